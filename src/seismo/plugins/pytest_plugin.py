"""The pytest plugin of seismo: options to cover, profile and check tests, markers and fixtures.

Pytest loads this file in every run (entry point pytest11), so it contains only declarations. The recording plugins
(pytest.cover, pytest.profile, pytest.check) are imported on request in pytest_load_initial_conftests. This hook runs
before conftest files and most plugins are loaded, so that their imports are recorded. Support for objects
(pytest.leaks_marker, pytest.objects_fixture) is imported by the first test that is marked or uses the fixture.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from functools import partial

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Generator

    from seismo.plugins.pytest.check_fixture import Blocks
    from seismo.plugins.pytest.objects_fixture import ObjectCounts


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options, which docs/pytest.md describes."""
    from seismo.recording_kinds import KINDS

    add = parser.getgroup("seismo", "coverage with seismo").addoption
    add(
        "--seismo-cover",
        metavar="SOURCE",
        action="append",
        nargs="?",
        const="",
        default=[],
        help="measure the coverage of the tests; SOURCE is the package or folder to measure, and may be given several "
        "times; without SOURCE the project's settings decide",
    )
    add("--seismo-no-cover", action="store_true", help="do not measure coverage, whatever other options say")
    _add_settings(add, "pytest-cover", "--seismo-cover-")
    add(
        "--seismo-cover-report",
        metavar="TYPE[:DEST]",
        action="append",
        default=[],
        help="write this report at the end: term (the default), term-missing, html, json, xml, lcov, data (.coverage) "
        "or none; DEST is skip-covered for term and term-missing, else a file or folder; may be given several times",
    )
    add(
        "--seismo-cover-context",
        choices=("test", "none"),
        help="test (the default): record which test executed each line, in the contexts NODEID|setup, NODEID|run and "
        "NODEID|teardown; none: do not",
    )
    add(
        "--seismo-cover-fail-under",
        metavar="PERCENT",
        type=_percent,
        help="fail if less than this percentage was executed",
    )
    add(
        "--seismo-cover-children",
        action="store_true",
        default=None,
        help="also cover the processes that tests start or fork",
    )
    add("--seismo-cover-config", metavar="FILE", help="read this settings file instead of the project's")
    add("--seismo-cover-file", metavar="FILE", help="write the recording to FILE (default: cover.seismo)")
    add("--seismo-cover-append", action="store_true", help="add to the existing recording instead of replacing it")
    add("--seismo-cover-force", action="store_true", help="let a report overwrite a file of another kind")
    for entry in KINDS.values():
        if entry.pytest:
            group = parser.getgroup(f"seismo-{entry.verb}", f"{entry.verb} of the tests with seismo")
            group.addoption(f"--seismo-{entry.verb}", metavar="FILE", nargs="?", const="", help=entry.asks)
    add = parser.getgroup("seismo-profile").addoption
    limit = "show at most N tests and functions (default: 10)"
    add("--seismo-profile-limit", metavar="N", type=_rows, default=10, help=limit)
    add("--seismo-profile-children", action="store_true", help="also record the processes that tests start or fork")
    _add_check(parser.getgroup("seismo-check", "counts of the tests against what they were, with seismo").addoption)
    parser.addini(
        "seismo_objects_unavailable",
        "what to do with tests that use seismo_objects or seismo_no_leaks where births and deaths of objects cannot be "
        "recorded: skip them (skip, the default), let them fail (fail), or run them without the check (run)",
        default="skip",
    )


def _add_settings(add: Callable[..., None], guest: str, begin: str) -> None:
    """Declare the options of seismo.options for this plugin. begin: the prefix of the option names."""
    from seismo.options import of

    for option in of(guest):
        name = begin + option.name.replace("_", "-")
        if option.is_flag:
            add(name, action="store_true", default=None, help=option.help)
        else:
            add(name, metavar=option.metavar, type=_percent if option.read == "percent" else str, help=option.help)


def _add_check(add: Callable[..., None]) -> None:
    add(
        "--seismo-check",
        action="store_true",
        help="count the calls and lines of the tests in two runs, and fail if there are more than before",
    )
    add(
        "--seismo-against",
        metavar="REV|FILE",
        help="compare with this revision of git, which is checked out and measured on the spot, or with this file "
        "(default: seismo-check-tests.txt)",
    )
    add("--seismo-update", action="store_true", help="write the counts to the file instead of comparing")
    add(
        "--seismo-limit",
        metavar="LIMIT",
        action="append",
        default=[],
        type=_limit,
        help="what is allowed, such as 'test calls <= +5%%'; may be given several times, and replaces the limits that "
        "hold by default",
    )
    _add_settings(add, "pytest-check", "--seismo-")


def _limit(text: str) -> str:
    from seismo.check.limits import parse_limit
    from seismo.errors import SeismoError

    try:
        parse_limit(text)
    except SeismoError as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def _rows(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def _percent(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f"{text} is not a number from 0 to 100")
    return value


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start recording. Raise pytest.UsageError with seismo's message if that fails, so that no test runs."""
    options: Namespace = early_config.known_args_namespace
    if options.help or options.version:
        return
    from seismo.recording_kinds import KINDS, load

    if options.seismo_cover and not options.seismo_no_cover:
        from seismo.plugins.pytest.cover import Cover

        _begin(early_config, "cover", partial(Cover, options))
    for entry in KINDS.values():
        if entry.pytest and getattr(options, f"seismo_{entry.verb}") is not None:
            _begin(early_config, entry.verb, partial(load(entry.pytest), options))
    if options.seismo_check:
        from seismo.plugins.pytest.check import plugin_of

        _begin(early_config, "check", partial(plugin_of, early_config))


def _begin(config: pytest.Config, verb: str, begin: Callable[[], object]) -> None:
    from seismo.errors import SeismoError

    try:
        plugin = begin()
    except SeismoError as error:
        raise pytest.UsageError("\n".join([f"--seismo-{verb}: {error.what}", *error.lines()[1:]])) from None
    config.pluginmanager.register(plugin, f"seismo-{verb}")


# ---- births and deaths of objects ----


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    config.addinivalue_line(
        "markers",
        "seismo_no_leaks(warmup=1, runs=3, of=None, allow=()): run the test warmup + runs times; it fails if objects "
        "that every counted run made are still alive. of: count objects of these types only; allow: ignore these "
        "(types, functions, FILE:LINE); runs=0: do not check. Needs Python 3.13.3",
    )
    config.addinivalue_line(
        "markers",
        "seismo_budget(calls=, exceptions=, lines=, births=): the test fails if it does more: calls of functions, "
        "exceptions that leave them, lines executed, objects made. Each is a number; the first three also a dict of "
        'numbers by function, such as calls={"*:execute": 3}. births runs the test twice, and needs Python 3.13.3',
    )


@pytest.hookimpl(wrapper=True, trylast=True)  # innermost, so that logs and output of all runs are captured
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Run a test with the marker for leaks several times, or count for its budget."""
    __tracebackhide__ = True
    leaks, budget = item.get_closest_marker("seismo_no_leaks"), item.get_closest_marker("seismo_budget")
    if leaks is None and budget is None:
        return (yield)
    if budget is None:
        from seismo.plugins.pytest.leaks_marker import checked

        return (yield from checked(item, leaks))  # type: ignore[arg-type]
    if leaks is not None:
        pytest.fail("a test cannot be marked seismo_budget and seismo_no_leaks: make two of it", pytrace=False)
    from seismo.plugins.pytest import budget_marker as budgets

    return (yield from budgets.checked(item, budget))


@pytest.fixture
def seismo_check(request: pytest.FixtureRequest) -> Blocks:
    """Count named blocks of a test separately under --seismo-check; docs/pytest.md has an example."""
    from seismo.plugins.pytest.check_fixture import Blocks

    run = request.config.pluginmanager.get_plugin("seismo-check")
    return Blocks(request.node.nodeid, getattr(run, "counting", None))


@pytest.fixture
def seismo_objects(pytestconfig: pytest.Config) -> ObjectCounts:
    """Count objects: with seismo_objects: ..., then seismo_objects.assert_objects(max_born=, max_alive=, of=)."""
    from seismo.plugins.pytest.objects_fixture import ObjectCounts

    return ObjectCounts(pytestconfig)
