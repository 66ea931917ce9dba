"""Programs, libraries and extension modules in C and Cython, built once in a test run."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sysconfig
from typing import TYPE_CHECKING, Any

import children
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def shared(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return the folder of this name that all processes of a test run have."""
    root = factory.getbasetemp()
    folder = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / name
    folder.mkdir(exist_ok=True)
    return folder


def once(target: Path, build: Callable[[], Any]) -> Path:
    """Return a file, which `build` makes unless it is there or another process makes it."""
    with open(f"{target}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            build()
    return target


def library(source: Path, folder: Path, *flags: str) -> Path:
    """Build a C file into a library in the folder, named like a module. Skip the test if there is no compiler."""
    compiler = os.environ.get("CC", "gcc")
    if shutil.which(compiler) is None:
        pytest.skip("needs a C compiler")
    target = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = [compiler, "-shared", "-fPIC", "-g", "-O1", f"-I{sysconfig.get_path('include')}", *flags]
    return once(target, lambda: subprocess.run([*command, "-o", target, source], check=True))


def module(source: Path, folder: Path, *flags: str) -> Any:
    """Build a C file and import it."""
    spec = importlib.util.spec_from_file_location(source.stem, library(source, folder, *flags))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


# What Cython makes of a function, a coroutine and a generator. It takes seconds, so all tests have the same module.
COMPILED = """
def price(x):
    return x + 1

async def awaits(function, other):
    function()
    await other()
    function()

def yields(function, n):
    for i in range(n):
        function()
        yield i
"""


def compiled(factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the module compiled_by_cython. Skip the test if there is no Cython."""
    return cython("compiled_by_cython", COMPILED, shared(factory, "compiled")).parent


def cython(name: str, text: str, folder: Path) -> Path:
    """Build a module from Cython's source. Skip the test if there is no Cython."""
    pytest.importorskip("Cython")
    source = folder / f"{name}.pyx"

    def translate() -> None:
        source.write_text(text)
        children.python("-m", "cython", "-3", source)

    return library(once(source.with_suffix(".c"), translate), folder, "-w", "-O0")
