"""Build the wheels of a source distribution, for each interpreter on standard input, with a cross compiler from PyPI.

Standard input has a line for each interpreter: a label, then the command that runs it. Each builds one wheel per
platform with its own headers; of two releases of a version, the later line is used. A label that ends in "t" is a
free-threaded build. With --here, this interpreter builds the wheel for this machine. With --testing, the core has its
entry points for tests, which `make wheelsuite` runs.

The compiler is `zig cc` (the package ziglang), which brings the headers and symbol versions of every glibc and musl.
The interpreter takes its compiler, its include folder and the name of the extension from a module that replaces its own
`_sysconfigdata`; CPython's cross builds do the same. `auditwheel` then checks each wheel against its name.

pyconfig.h is the interpreter's, with the lines that differ on the target (`AARCH64`) changed.
"""

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "wheels"
HEADERS = BUILD / "headers"  # the same folder for every version, so that zig finds what it has compiled before
TESTING = BUILD / "testing"
LARGEST = 2_500_000  # bytes of a wheel
# The oldest glibc. The core needs no newer one, and zig rejects functions that 2.17 lacks.
GLIBC = "2.17"
# Another compiler would make other wheels of the same sources.
TOOLS = ["auditwheel==6.8.2", "setuptools==84.2.1", "ziglang==0.17.1"]
# What zig's newer libc headers define otherwise than pyconfig.h does, after _GNU_SOURCE has asked for everything.
FLAGS = ["-DNDEBUG", "-g0", "-fPIC", "-fwrapv", "-Wno-macro-redefined"]
# Python has loaded musl, whose file has another name on each distribution.
NO_MUSL = " -nostdlib"

# The definitions of pyconfig.h on aarch64 that differ from those on x86_64; None: not defined. Debian's packages of
# 3.11, 3.13, 3.14 and 3.15 for both processors differ in these lines and no other.
AARCH64 = {
    "HAVE_GCC_ASM_FOR_X64": None,
    "HAVE_GCC_ASM_FOR_X87": None,
    "HAVE_USABLE_WCHAR_T": "1",
    "PY_SUPPORT_TIER": "2",
    "SOABI_PLATFORM": '"aarch64-linux-gnu"',
    "_Py_HACL_CAN_COMPILE_VEC128": None,
    "_Py_HACL_CAN_COMPILE_VEC256": None,
}
# Copies an interpreter's headers. Debian's pyconfig.h includes that of the processor from another folder.
COPY_HEADERS = """
import os, shutil, sys, sysconfig
include, config = sysconfig.get_path("include"), sysconfig.get_config_h_filename()
multiarch = os.path.join("/usr/include", sysconfig.get_config_var("MULTIARCH") or "", os.path.basename(include))
shutil.copytree(include, sys.argv[1], dirs_exist_ok=True)
shutil.copy(os.path.join(multiarch, "pyconfig.h") if "multiarch" in open(config).read() else config, sys.argv[1])
"""


@dataclass(frozen=True)
class Platform:
    """A processor and a C library."""

    machine: str
    libc: str

    @property
    def policy(self) -> str:
        """Return the platform tag without the processor."""
        return f"manylinux_{GLIBC.replace('.', '_')}" if self.libc == "gnu" else "musllinux_1_2"

    @property
    def tag(self) -> str:
        """Return the platform tag of a wheel."""
        return f"{self.policy}_{self.machine}"

    @property
    def zig(self) -> str:
        """Return the target as zig names it."""
        return f"{self.machine}-linux-{self.libc}{f'.{GLIBC}' if self.libc == 'gnu' else ''}"


PLATFORMS = [Platform(machine, libc) for libc in ("gnu", "musl") for machine in ("x86_64", "aarch64")]


@dataclass(frozen=True)
class Interpreter:
    """A version of Python, "3.14" or "3.14t", and the command that runs it."""

    version: str
    command: list[str]


def interpreters(lines: list[str]) -> list[Interpreter]:
    """Return one interpreter for each version; the last line of a version counts."""
    found = {}
    for line in lines:
        label, *command = line.split()
        if version := re.search(r"(\d+\.\d+)[\w.]*?(t?)$", label):
            found["".join(version.groups())] = Interpreter("".join(version.groups()), command)
    return list(found.values())


def here() -> tuple[Interpreter, Platform]:
    """Return this interpreter and the platform that it runs on."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}{sys.abiflags.replace('d', '')}"
    machine = os.uname().machine
    platform = Platform(machine, "musl" if "musl" in sysconfig.get_config_var("SOABI") else "gnu")
    if platform not in PLATFORMS:
        raise SystemExit(
            f"seismo has wheels for {', '.join(each.tag for each in PLATFORMS)}; this machine is {machine}"
        )
    return Interpreter(version, [sys.executable]), platform


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run a command and return its output. End with the output if it fails."""
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}exit status {done.returncode}")
    return done.stdout


def install_tools() -> Path:
    """Install the compiler and its companions below the build folder, once. Return their folder."""
    folder = BUILD / "tools"
    wanted, stamp = "\n".join(TOOLS), folder / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder)]
        run([*pip, *TOOLS])
        stamp.write_text(wanted)
    return folder


def unpack(sdist: Path) -> Path:
    """Unpack the source distribution and return its folder."""
    shutil.rmtree(BUILD / "source", ignore_errors=True)
    with tarfile.open(sdist) as packed:
        packed.extractall(BUILD / "source", filter="data")
    [folder] = (BUILD / "source").iterdir()
    return folder


def pyconfig_for(platform: Platform, text: str) -> str:
    """Return the text of an x86_64 glibc's pyconfig.h, changed for the platform."""
    for name, value in AARCH64.items() if platform.machine == "aarch64" else ():
        line = f"#define {name} {value}" if value is not None else f"/* #undef {name} */"
        text = re.sub(rf"^(#define {name} .*|/\* #undef {name} \*/)$", line, text, flags=re.MULTILINE)
    return text


def copy_headers(interpreter: Interpreter) -> str:
    """Copy the interpreter's headers to `HEADERS`, and return the text of its pyconfig.h."""
    shutil.rmtree(HEADERS, ignore_errors=True)
    run([*interpreter.command, "-c", COPY_HEADERS, str(HEADERS)])
    return (HEADERS / "pyconfig.h").read_text()


def build(
    interpreter: Interpreter, platform: Platform, source: Path, tools: Path, target: Path, testing: bool = False
) -> Path:
    """Build one wheel from the sources and `HEADERS` into the folder `target`, and return its path."""
    settings = BUILD / "settings"
    compiler = f"{tools}/ziglang/zig cc -target {platform.zig}"
    abi = f"cpython-{interpreter.version.replace('.', '')}-{platform.machine}-linux-{platform.libc}"
    variables = {
        "CC": compiler,
        "CXX": compiler,
        "LDSHARED": f"{compiler} -shared -s{NO_MUSL if platform.libc == 'musl' else ''}",
        "LDCXXSHARED": "",
        "CFLAGS": " ".join(FLAGS),
        "CCSHARED": "",
        "AR": "",
        "ARFLAGS": "",
        "SHLIB_SUFFIX": ".so",
        "SOABI": abi,
        "EXT_SUFFIX": f".{abi}.so",
        "INCLUDEPY": str(HEADERS),
        "CONFINCLUDEPY": str(HEADERS),
        "Py_GIL_DISABLED": int(interpreter.version.endswith("t")),
    }
    settings.mkdir(exist_ok=True)
    (settings / "_sysconfigdata_seismo.py").write_text(f"build_time_vars = {variables!r}\n")
    environment = {
        "PYTHONPATH": f"{settings}:{tools}",
        "_PYTHON_SYSCONFIGDATA_NAME": "_sysconfigdata_seismo",
        "ZIG_GLOBAL_CACHE_DIR": str(BUILD / "cache"),
        "ZIG_LOCAL_CACHE_DIR": str(BUILD / "cache"),
        "SEISMO_WERROR": os.environ.get("SEISMO_WERROR", "1"),
        "SEISMO_TESTING": "1" if testing else "",
    }
    return bdist_wheel(interpreter.command, source, target, environment, ["--plat-name", platform.tag])


def bdist_wheel(
    command: list[str], source: Path, target: Path, settings: dict[str, str], options: Sequence[str] = ()
) -> Path:
    """Run setuptools on the sources, and return the path of the wheel. All times in it are those of the sources."""
    objects = BUILD / "objects"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SEISMO", "PYTHON"))}
    # The module of settings is another one each time.
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", **settings}
    environment["SOURCE_DATE_EPOCH"] = str(int((source / "PKG-INFO").stat().st_mtime))
    shutil.rmtree(objects, ignore_errors=True)
    words = ["build", "--build-base", str(objects), "bdist_wheel", "--dist-dir", str(objects / "wheel")]
    *enter, python = command
    setup = ["/usr/bin/env", "-C", str(source), python, "setup.py", "-q"]
    run([*enter, *setup, *words, *options], environment)
    [wheel] = (objects / "wheel").glob("*.whl")
    return Path(shutil.move(wheel, target / wheel.name))


def check(wheel: Path, platform: Platform, tools: Path) -> None:
    """End with a reason if the wheel is too large, or if auditwheel finds that it needs a newer system than its tag."""
    show = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    shown = run(show, {**os.environ, "PYTHONPATH": str(tools)})
    kind, *newest = platform.policy.split("_")
    found = re.search(rf'tag:\s+"{kind}_(\d+)_(\d+)_{platform.machine}"', shown)
    if found is None or [*map(int, found.groups())] > [*map(int, newest)]:
        raise SystemExit(f"{wheel.name}: auditwheel does not confirm the platform\n{shown}")
    if wheel.stat().st_size > LARGEST:
        raise SystemExit(f"{wheel.name}: {wheel.stat().st_size:,} bytes, more than {LARGEST:,}")


def main() -> None:
    """Build and check the wheels."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--here", action="store_true", help="one wheel, for this interpreter and machine")
    parser.add_argument("--only", default="", metavar="PATTERN", help="platforms whose tag has this")
    parser.add_argument("--testing", action="store_true", help=f"for tests, into {TESTING.relative_to(ROOT)}")
    parser.add_argument("sdist", type=Path)
    args = parser.parse_args()
    began = time.monotonic()
    if args.here:
        interpreter, platform = here()
        jobs = [(interpreter, [platform])]
    else:
        platforms = [platform for platform in PLATFORMS if re.search(args.only, platform.tag)]
        jobs = [(interpreter, platforms) for interpreter in interpreters(sys.stdin.read().splitlines())]
    tools, source = install_tools(), unpack(args.sdist)
    target = TESTING if args.testing else args.sdist.resolve().parent
    target.mkdir(exist_ok=True)
    for interpreter, platforms in jobs:
        pyconfig = copy_headers(interpreter)
        for platform in platforms:
            start = time.monotonic()
            (HEADERS / "pyconfig.h").write_text(pyconfig_for(platform, pyconfig))
            wheel = build(interpreter, platform, source, tools, target, args.testing)
            check(wheel, platform, tools)
            print(f"{wheel.name}  {wheel.stat().st_size:,} bytes  {time.monotonic() - start:.0f} s", flush=True)
    if not args.testing:
        # pip takes the wheel without the core where no other fits.
        settings = {"PYTHONPATH": str(tools), "SEISMO_PURE": "1"}
        print(bdist_wheel([sys.executable], source, target, settings).name)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = f"{time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of a processor"
    print(f"{sum(len(platforms) for _, platforms in jobs)} wheels in {took}")


if __name__ == "__main__":
    main()
