"""What a program went through by INSTRUCTION events (3.12 and later), from which nothing can be hidden."""

import sys


class Heard:
    """The code objects of one file, between start() and stop().

    steps: (from, to), the lines of consecutive instructions of a frame. `from` is None at its first line, and `to` is
    minus the function's first line where it returns.
    """

    def __init__(self, filename):
        self.filename, self.steps = filename, set()
        self._last, self._lines = {}, {}

    @property
    def lines(self):
        return {line for _, line in self.steps if line > 0}

    def start(self):
        events, tool = sys.monitoring.events, sys.monitoring.DEBUGGER_ID
        sys.monitoring.use_tool_id(tool, "instructions")
        sys.monitoring.register_callback(tool, events.INSTRUCTION, self._on_instruction)
        sys.monitoring.register_callback(tool, events.PY_RETURN, self._on_return)
        sys.monitoring.set_events(tool, events.INSTRUCTION | events.PY_RETURN)

    def stop(self):
        events, tool = sys.monitoring.events, sys.monitoring.DEBUGGER_ID
        sys.monitoring.set_events(tool, 0)
        for event in (events.INSTRUCTION, events.PY_RETURN):
            sys.monitoring.register_callback(tool, event, None)
        sys.monitoring.free_tool_id(tool)
        sys.monitoring.restart_events()

    def _on_instruction(self, code, offset):
        if code.co_filename != self.filename:
            return sys.monitoring.DISABLE
        if code not in self._lines:
            spans = code.co_lines()
            self._lines[code] = {at: line for start, end, line in spans if line for at in range(start, end, 2)}
        line, frame = self._lines[code].get(offset), sys._getframe(1)
        if line is not None:
            self.steps.add((self._last.get(frame), line))
            self._last[frame] = line
        return None

    def _on_return(self, code, _offset, _value):
        if code.co_filename == self.filename:
            self.steps.add((self._last.get(sys._getframe(1)), -code.co_firstlineno))
