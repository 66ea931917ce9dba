"""The tests of CPython that do not pass with seismo.hooks in place, and why: what docs/hooks.md says under Conformance.

A row that passes after all fails the test, so this table cannot grow old.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exception_:
    """One test that fails for a reason.

    test: file, class, method, of which * stands for several. versions: "all", or "3.13" and "3.13.0", separated by
    commas. modes: "all", or the modes of child.py in which it fails, separated by commas. ends: False: it cannot even
    be tried, since it would not end.
    """

    test: str
    versions: str
    modes: str
    reason: str
    ends: bool = True

    def holds(self, version: tuple[int, int, int], mode: str) -> bool:
        names = {"all", "{}.{}.{}".format(*version), "{}.{}".format(*version)}
        return bool(names & set(self.versions.split(", "))) and (self.modes == "all" or mode in self.modes.split(", "))


_C_TRACER = "sets a tracer by C code and takes it out by sys.settrace: seismo's leaves those of others alone"
_REENTRANCY = "expects an error from sys.{} while it releases the function before; seismo's just works, as on 3.12"

EXCEPTIONS = [
    Exception_("test_sys_setprofile.TestEdgeCases.test_reentrancy", "3.11", "all", _REENTRANCY.format("setprofile")),
    Exception_("test_sys_settrace.TestEdgeCases.test_reentrancy", "3.11", "all", _REENTRANCY.format("settrace")),
    Exception_("test_sys_settrace.*.test_no_line_event_after_creating_generator", "all", "all", _C_TRACER, False),
    Exception_("test_sys_settrace.*.test_testcapi_settrace_error", "all", "all", _C_TRACER, False),
]
