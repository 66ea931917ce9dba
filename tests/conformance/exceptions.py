"""The tests of CPython that do not pass with seismo.hooks in place, and why: what docs/hooks.md says under Conformance.

A row that passes after all fails the test, so this table cannot grow old.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exception_:
    """One test that fails for a reason.

    versions: "3.13" or "3.13.0", separated by commas. test: file, class, method. modes: "all", or the modes of child.py
    in which it fails, separated by commas.
    """

    versions: str
    test: str
    modes: str
    reason: str

    def holds(self, version: tuple[int, int, int], mode: str) -> bool:
        names = {"{}.{}.{}".format(*version), "{}.{}".format(*version)}
        listed = {one.strip() for one in self.versions.split(",")}
        return bool(names & listed) and (self.modes == "all" or mode in self.modes.split(", "))


EXCEPTIONS: list[Exception_] = []
