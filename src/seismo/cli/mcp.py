"""Answers agents about recordings: a server of the Model Context Protocol.

The agent's program starts the server and talks to it on standard input and output (pip install 'seismo[mcp]'). Its
tools read recordings below --root: report, callers and callees, lines, objects, diff, SQL. Only with --allow-run can an
agent run programs, to record or to check them: these run with your rights. docs/agents.md shows the settings of common
clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo mcp`."""
    parser.add_argument("--root", metavar="DIR", default=".", help="the folder whose recordings are read (default: .)")
    parser.add_argument("--allow-run", action="store_true", help="let the agent run and record programs")


def run(args: Namespace) -> int:
    """Serve until standard input ends."""
    from seismo.mcp.server import make

    make(args.root, args.allow_run).run("stdio")
    return 0
