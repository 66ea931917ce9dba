"""The examples are built and run, as their pages say, by what is there to build them with."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import children
import pytest
from paths import EXAMPLES


def run(*command, folder):
    environment = children.environment(folder)
    if command[0] != sys.executable:
        environment.pop("LD_PRELOAD", None)  # the sanitizers' library is for Python: rustc crashes with it
    done = children.run([str(word) for word in command], cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_call_counter(tmp_path):
    folder = tmp_path / "call_counter"
    shutil.copytree(EXAMPLES / "call_counter", folder)
    run(sys.executable, "setup.py", "-q", "build_ext", "--inplace", folder=folder)
    printed = run(sys.executable, "-W", "error", "demo.py", folder=folder)
    assert printed in (folder / "README.md").read_text()
    objects = """
import call_counter, seismo._core
def work():
    kept = [object() for _ in range(100)]
try:
    created, destroyed = call_counter.objects(work)
except RuntimeError as error:
    assert str(error) == seismo._core.ref_objection()
else:
    assert seismo._core.ref_objection() is None and created >= 100 <= destroyed
"""
    run(sys.executable, "-c", objects, folder=folder)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_cpp(include):
    source = Path(__file__).with_name("header.cpp")
    for standard in ("c++11", "c++20"):
        flags = [f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["g++", *flags, *include, source], check=True)


@pytest.mark.skipif(importlib.util.find_spec("Cython") is None, reason="Cython is not installed")
def test_cython(tmp_path, include):
    from Cython.Build import cythonize
    from setuptools import Extension
    from setuptools.dist import Distribution

    folder = tmp_path / "cython"
    shutil.copytree(EXAMPLES / "cython", folder)
    program = """
import line_counter
def work():
    x = 1
    return x
assert line_counter.lines(work, 'function("work")') == 2
"""
    source = str(folder / "line_counter.pyx")
    include_dirs = [word[2:] for word in include]
    extension = Extension("line_counter", [source], include_dirs=include_dirs, extra_compile_args=["-O0"])
    modules = cythonize([extension], quiet=True, include_path=[str(folder)])
    command = Distribution({"name": "line-counter", "ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib, command.build_temp, command.quiet = str(folder), str(folder / "build"), True
    command.ensure_finalized()
    command.run()
    run(sys.executable, "-c", program, folder=folder)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="no Rust compiler")
def test_rust(tmp_path):
    library = tmp_path / "libcall_counter.so"
    source = EXAMPLES / "rust" / "call_counter.rs"
    run("rustc", "--edition", "2021", "--crate-type", "cdylib", "-O", "-o", library, source, folder=tmp_path)
    assert run(sys.executable, EXAMPLES / "rust" / "demo.py", library, folder=tmp_path) == "1000 calls\n"
