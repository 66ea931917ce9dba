"""Extension modules and libraries in C and Cython, built for the interpreter at hand."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from typing import TYPE_CHECKING, Any

import children
import pytest

if TYPE_CHECKING:
    from pathlib import Path


def library(source: Path, folder: Path, *flags: str) -> Path:
    """Build a C file into a library in the folder, named like a module. Skip the test if there is no compiler."""
    compiler = os.environ.get("CC", "gcc")
    if shutil.which(compiler) is None:
        pytest.skip("needs a C compiler")
    target = folder / f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run([compiler, "-shared", "-fPIC", "-g", "-O1", include, *flags, "-o", target, source], check=True)
    return target


def module(source: Path, folder: Path, *flags: str) -> Any:
    """Build a C file and import it."""
    spec = importlib.util.spec_from_file_location(source.stem, library(source, folder, *flags))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def cython(name: str, text: str, folder: Path) -> Path:
    """Build a module from Cython's source. Skip the test if there is no Cython."""
    pytest.importorskip("Cython")
    (folder / f"{name}.pyx").write_text(text)
    children.python("-m", "cython", "-3", folder / f"{name}.pyx")
    return library(folder / f"{name}.c", folder, "-w", "-O0")
