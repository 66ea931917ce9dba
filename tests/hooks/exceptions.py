"""The tests of CPython that do not pass with seismo.hooks in place, and why: what docs/hooks.md says under Conformance.

A row that passes after all fails the test, so this table cannot grow old.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exception_:
    """One test that fails for a reason.

    test: file, class, method. versions: "all", or "3.13" and "3.13.0", separated by
    commas. modes: those of child.py in which it fails, separated by commas.
    """

    test: str
    versions: str
    modes: str
    reason: str

    def holds(self, version: tuple[int, int, int], mode: str) -> bool:
        names = {"all", "{}.{}.{}".format(*version), "{}.{}".format(*version)}
        return bool(names & set(self.versions.split(", "))) and mode in self.modes.split(", ")


_REENTRANCY = (
    "expects an error from sys.{} while it releases the previous function; "
    "seismo simply sets the function, as 3.12 does"
)
_HOOKS = "hooks, hooks+profilefunc, hooks+evalframe"

EXCEPTIONS = [
    Exception_(
        "test_sys_setprofile.TestEdgeCases.test_reentrancy",
        "3.11",
        f"{_HOOKS}, own+profilefunc",
        _REENTRANCY.format("setprofile"),
    ),
    Exception_("test_sys_settrace.TestEdgeCases.test_reentrancy", "3.11", _HOOKS, _REENTRANCY.format("settrace")),
]
