"""Build the native core. Everything else about the package is in pyproject.toml.

ENV: CFLAGS             replaces -O2 where it says how much to optimise.
ENV: SEISMO_WERROR=1    compiler warnings are errors.
ENV: SEISMO_TESTING=1   adds the functions of seismo._core and the failure injection that only tests use.
ENV: SEISMO_PURE=1      no core: a wheel for every platform, which reads recordings and makes none.
ENV: SEISMO_SANITIZE=1  AddressSanitizer, UndefinedBehaviorSanitizer and asserts, in a build folder of its own.
"""

import glob
import gzip
import hashlib
import os
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError

# The first version whose structures and hooks nobody has looked at yet (native/compat/runtime.c knows it, too).
UNKNOWN = (3, 16)

compile_args = ["-std=c11", "-Wall", "-Wextra", "-fvisibility=hidden", "-fno-semantic-interposition", "-pthread"]
if "-O" not in os.environ.get("CFLAGS", ""):
    compile_args.append("-O2")
compile_args += ["-fno-plt"]  # the interpreter's functions are called at every event
# clang would make a product and a sum one instruction on arm64, which rounds once: the times of a recording would
# differ in their last bits from those on x86-64, and from those of the reader in Python.
compile_args += ["-ffp-contract=off"]
# Python 3.15 asks for frame pointers. The callbacks of events take some twenty instructions each, of which two would be
# theirs, and call nothing that runs Python code: no stack of the program's leads through them. Nor are two stores of
# theirs made into one, for which the compiler takes longer.
callbacks = "native/module/wiring.c"
callback_args = ["-fomit-frame-pointer", "-fno-tree-slp-vectorize"]
link_args = ["-pthread"]
# The C library's headers would set what 3.15's pyconfig.h sets to another value.
compile_args += ["-include", "pyconfig.h"]
macros: list[tuple[str, str | None]] = [("_GNU_SOURCE", None), ("PY_SSIZE_T_CLEAN", None)]
macros.append(("LZ4LIB_VISIBILITY", ""))  # native/vendor/lz4 stays inside the core
build_base = "build"
# What calibration found is kept for the very same core.
digest = hashlib.sha256()
for path in sorted(glob.glob("native/**/*.[ch]", recursive=True)):
    with open(path, "rb") as file:
        digest.update(file.read())
macros.append(("SM_BUILD", f'"{digest.hexdigest()[:16]}"'))
if os.environ.get("SEISMO_WERROR"):
    compile_args.append("-Werror")
if os.environ.get("SEISMO_TESTING"):
    macros.append(("SM_TESTING", "1"))
if os.environ.get("SEISMO_SANITIZE"):
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"]
    compile_args += [*sanitize, "-O1", "-g1", "-UNDEBUG"]
    link_args += sanitize
    callback_args = []
    build_base = "build/sanitize"


class ParallelBuild(build_ext):
    """Compiles the sources of the one extension side by side; setuptools only knows how to do several extensions."""

    def compiled_header(self, macros: Any, extra_postargs: Any, **_: Any) -> list[str]:
        """Compile Python.h and return the option that includes it: to parse it each time takes gcc a third longer."""
        if os.path.basename(self.compiler.compiler_so[0]).split("-")[-1] != "gcc":
            return []
        header = f"{self.build_temp}/prefix.h"
        os.makedirs(self.build_temp, exist_ok=True)
        with open(header, "w", encoding="ascii") as file:
            file.write("#include <pyconfig.h>\n#include <Python.h>\n")
        defined = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in macros]
        words = [*defined, *(f"-I{folder}" for folder in self.compiler.include_dirs), *extra_postargs]
        self.spawn([*self.compiler.compiler_so, *words, "-x", "c-header", header, "-o", f"{header}.gch"])
        return ["-include", header]

    def build_extensions(self) -> None:
        compile_some = self.compiler.compile

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            header, args = self.compiled_header(**options), options["extra_postargs"]

            def compile_one(source: str) -> list[str]:
                with open(source, encoding="utf-8") as file:  # what this defines changes Python.h
                    alone = source.startswith("native/vendor") or "#define Py_BUILD_CORE" in file.read()
                more = callback_args if source == callbacks else []
                return compile_some(
                    [source], **{**options, "extra_postargs": [*([] if alone else header), *args, *more]}
                )

            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = pool.map(compile_one, sources)
                return [name for names in objects for name in names]

        self.compiler.compile = compile_all
        try:
            super().build_extensions()
        except CompileError:
            if sys.version_info < UNKNOWN:
                raise
            python, known = (".".join(map(str, version[:2])) for version in (sys.version_info, UNKNOWN))
            raise SystemExit(
                f"seismo does not know Python {python}, and its native core does not compile with it. Use a Python "
                f"before {known}, or a newer seismo."
            ) from None


class ReproducibleSdist(sdist):
    """Packs the same sources to the same bytes: with one time, SOURCE_DATE_EPOCH, no users, and one order."""

    def make_archive(self, base_name: str, *_: Any, base_dir: str, **__: Any) -> str:
        moment = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())

        def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime = moment
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            return member

        name = f"{base_name}.tar.gz"
        self.mkpath(os.path.dirname(name))
        with (
            open(name, "wb") as file,
            gzip.GzipFile("", "wb", 9, file, moment) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT, dereference=True) as archive,
        ):
            archive.add(base_dir, filter=anonymous)
        return name


setup(
    ext_modules=[]
    if os.environ.get("SEISMO_PURE")
    else [
        Extension(
            "seismo._core",
            sources=sorted(glob.glob("native/**/*.c", recursive=True)),
            depends=sorted([*glob.glob("native/**/*.h", recursive=True), "src/seismo/include/seismo.h"]),
            include_dirs=["native", "src/seismo/include"],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            define_macros=macros,
        )
    ],
    cmdclass={"build_ext": ParallelBuild, "sdist": ReproducibleSdist},
    options={"build": {"build_base": build_base}},
)
