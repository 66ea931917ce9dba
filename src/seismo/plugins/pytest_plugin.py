"""The options of `pytest --seismo-cover`, and its start; pytest loads this file in every run (entry point pytest11).

So nothing more than the options is here. What covers is in pytest_cover and is imported only when asked for, in
pytest_load_initial_conftests: before the conftest files and most plugins, so that what they import is covered too.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

PLUGIN = "seismo-cover"  # the name under which the running coverage is registered


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options; docs/pytest.md says more of each."""
    add = parser.getgroup("seismo", "coverage with seismo").addoption
    add(
        "--seismo-cover",
        dest="seismo_cover",
        metavar="SOURCE",
        action="append",
        nargs="?",
        const="",
        default=[],
        help="cover the tests; SOURCE, a package or a folder, is what to cover (several times: all of them; none: what "
        "the settings say)",
    )
    add("--seismo-no-cover", dest="seismo_no_cover", action="store_true", help="do not, whatever stands before")
    add(
        "--seismo-branch",
        "--seismo-cover-branch",
        dest="seismo_cover_branch",
        action="store_true",
        default=None,
        help="branches, too",
    )
    add(
        "--seismo-counts",
        "--seismo-cover-counts",
        dest="seismo_cover_counts",
        action="store_true",
        default=None,
        help="how often each line ran",
    )
    add(
        "--seismo-cover-report",
        dest="seismo_cover_report",
        metavar="TYPE[:DEST]",
        action="append",
        default=[],
        help="term (default), term-missing, html, json, xml, lcov, data (.coverage), none; term and term-missing take "
        ":skip-covered, the others a file or folder; may be given several times",
    )
    add(
        "--seismo-cover-context",
        dest="seismo_cover_context",
        choices=("test", "none"),
        default=None,
        help="test (default): keep which test ran what, as NODEID|setup, NODEID|run and NODEID|teardown",
    )
    add(
        "--seismo-cover-fail-under",
        dest="seismo_cover_fail_under",
        metavar="PERCENT",
        type=_percent,
        default=None,
        help="fail when less is covered",
    )
    add("--seismo-cover-config", dest="seismo_cover_config", metavar="FILE", help="the settings (default: as coverage)")
    add("--seismo-cover-file", dest="seismo_cover_file", metavar="FILE", help="the recording (default: cover.seismo)")
    add(
        "--seismo-cover-append",
        dest="seismo_cover_append",
        action="store_true",
        help="add to the recording that is there",
    )
    add(
        "--seismo-cover-children",
        dest="seismo_cover_children",
        action="store_true",
        default=None,
        help="cover the processes that tests start or fork, too",
    )


def _percent(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f"{text} is no number from 0 to 100")
    return value


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Starts covering. Raises pytest.UsageError with seismo's words when that cannot be: no test runs then."""
    options: Namespace = early_config.known_args_namespace
    if not options.seismo_cover or options.seismo_no_cover or options.help or options.version:
        return
    from seismo.errors import SeismoError
    from seismo.plugins.pytest_cover import Cover

    try:
        cover = Cover(options)
    except SeismoError as error:
        raise pytest.UsageError("\n".join(["--seismo-cover: " + error.what, *error.lines()[1:]])) from None
    early_config.pluginmanager.register(cover, PLUGIN)
