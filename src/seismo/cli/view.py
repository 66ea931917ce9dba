"""Shows recordings in a browser: pages of calls, lines, coverage and objects, and the timeline of a trace of any size.

    seismo view app-123.seismo
    seismo view before.seismo after.seismo
    seismo view --live app-123.seismo
    seismo view app.pstats              another tool's file

The server runs on this machine only, at an address that contains a secret, and sends nothing elsewhere. Ctrl-C ends it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from seismo.cli.files import FILE_HELP, SUFFIX, open_recording, open_running, or_newest, say
from seismo.cli.pages import opened
from seismo.errors import UsageError
from seismo.view.routes import Routes, ServedRecording
from seismo.view.server import Server

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


MOST_FILES = 20


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of `seismo view`."""
    help_files = f"{FILE_HELP.partition(';')[0]} (default: the newest *{SUFFIX} in this folder)"
    parser.add_argument("files", metavar="FILE", nargs="*", help=help_files)
    parser.add_argument("--live", action="store_true", help="follow recordings while they are written")
    parser.add_argument("--port", metavar="N", type=int, default=0, help="the port (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="print the address only; open no browser")
    parser.epilog = (
        "Without a browser on this machine, forward the port: ssh -L PORT:127.0.0.1:PORT HOST, and open the printed\n"
        "address."
    )


def run(args: Namespace) -> int:
    """Serve until interrupted."""
    server = Server(Routes(_shown(args)), args.port)
    try:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        say("everyone on this machine who has this address can see the recordings; Ctrl-C ends the server")
        if not args.no_open and not opened(server.url):
            say("no browser could be opened: open the address yourself")
        server.serve()
    except KeyboardInterrupt:
        say("ended")
    finally:
        server.server_close()
    return 0


def _shown(args: Namespace) -> list[ServedRecording]:
    files = args.files or [or_newest(None)]
    if len(files) > MOST_FILES:
        raise UsageError(f"{len(files)} files are too many to show together", hint=f"name at most {MOST_FILES}")
    if args.live:
        return [ServedRecording(file, open_running(file), live=True) for file in files]
    return [ServedRecording(file, open_recording(file)) for file in files]
