"""`seismo watch` and `seismo.watch`: events that match an expression, shown as they happen.

with seismo.watch('call("app.*.save") and duration > 50ms', args=True) as w:
    work()
w.count, w.matches
"""

from seismo.watching.match import Match
from seismo.watching.watch import Watch, watch

__all__ = ["Match", "Watch", "watch"]
