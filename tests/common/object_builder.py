"""A builder of recordings of births and deaths."""

from seismo.model import Builder
from seismo.model.builder import cut


class ObjectBuilder(Builder):
    """Adds rows about objects. Their `live` and `peak` are by default what fits the other counts."""

    def type(self, module, name, *, born=0, died=0, **columns):
        return self.add("types", module=cut(module), name=cut(name), **counted(born, died, columns))

    def object(self, type, function=-1, line=0, node=-1, *, born=0, died=0, **columns):
        counts = counted(born, died, columns)
        return self.add("objects", type=type, function=function, line=line, node=node, **counts)

    def lifetime(self, object, unit, bucket, count):
        return self.add("lifetimes", object=object, unit=unit, bucket=bucket, count=count)

    def object_time(self, time_ns, born, died):
        return self.add("object_times", time_ns=time_ns, born=born, died=died)

    def object_span(self, function=-1, first=0, calls=1, **columns):
        return self.add("object_spans", function=function, first=first, calls=calls, **columns)

    def object_survivor(self, span, object, count):
        return self.add("object_survivors", span=span, object=object, count=count)

    def holder(self, object, parent=-1, holder="", by="", **columns):
        columns = {"count": 1, "asked": 1, **columns}
        return self.add("holders", object=object, parent=parent, holder=holder, by=by, **columns)

    def mark(self, name, born, time_ns=0):
        return self.add("marks", name=name, born=born, time_ns=time_ns)


def counted(born, died, columns):
    live = columns.get("live", max(0, born - died - columns.get("unseen", 0)))
    return {"peak": max(live, min(born, 1)), **columns, "born": born, "died": died, "live": live}
