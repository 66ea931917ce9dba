"""The MCP server: the tools with their descriptions, and answers as results of the protocol."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from seismo.coverage import read_source
from seismo.errors import SeismoError, UsageError, install_command
from seismo.mcp.allowed_files import RootFolder
from seismo.mcp.tools import NOTE, Tools, failure

if TYPE_CHECKING:
    from collections.abc import Callable

INSTRUCTIONS = (
    "seismo records what Python programs do: exact counts of calls, lines and objects, times with errors (ns). Begin "
    "with `recordings`, then `report`; `callers_and_callees`, `lines` and `objects` go into detail, `query` answers "
    "what they do not. " + NOTE
)

# The descriptions of the tools, by the name of the method that answers.
READING = {
    "recordings": "List the recordings (.seismo) below a folder of the root, the newest first.",
    "report": "The whole story of a recording as Markdown, the most important first, in at most `max_lines` lines.",
    "callers_and_callees": "Who calls a function and what it calls. function: `module:qualname`, or the qualname "
    "alone.",
    "lines": "The lines of a function with hits and times, of a recording of lines or coverage.",
    "objects": "Objects by type and the line that made them, of a recording of objects; by: live, born, died, peak.",
    "diff": "What changed from one recording (old) to another (new) of the same program.",
    "tables": "The tables and columns that `query` knows.",
    "query": "Ask one or several recordings in SQL (DuckDB; reads only). Ids of tables join across recordings.",
}
RUNNING = {
    "record": "Run a program and record it. verb: profile, trace, lines, cover, objects. program: its command line, "
    'such as ["app.py", "--fast"] or ["-m", "app"].',
    "check": "Compare what a program does with a revision or a baseline: the words of `seismo check`, such as "
    '["--against", "HEAD", "app.py"].',
}


def make(folder: str, allow_run: bool) -> Any:
    """Return the server for the recordings below a folder. Raise UsageError if the folder or the SDK is missing."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import CallToolResult, TextContent, ToolAnnotations
    except ImportError:
        raise UsageError("the server needs the MCP SDK, which is not installed", hint=install_command("mcp")) from None
    from seismo import __version__

    root = RootFolder(folder)
    read_source.only_below(root.path)
    answers = Tools(root)
    server = MCPServer("seismo", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")

    def tool(work: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
        """Return a tool function whose answers, and errors with their parts, are results of the protocol."""

        @functools.wraps(work)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                found, wrong = work(*args, **kwargs), False
            except SeismoError as error:
                found, wrong = failure(error), True
            except (OSError, OverflowError, RecursionError, MemoryError) as error:
                found, wrong = failure(UsageError(f"this failed: {type(error).__name__}", str(error))), True
            # A lone surrogate, as in the name of a file that is not UTF-8, would end the server.
            found = json.loads(json.dumps(found, default=str, ensure_ascii=False).encode("utf-8", "replace"))
            text = TextContent(type="text", text=json.dumps(found))
            return CallToolResult(content=[text], structured_content=found, is_error=wrong)

        return call

    for words, reads in ((READING, True), (RUNNING if allow_run else {}, False)):
        for name, description in words.items():
            server.add_tool(
                tool(getattr(answers, name)),
                name=name,
                description=description,
                annotations=ToolAnnotations(read_only_hint=reads, open_world_hint=False),
                structured_output=False,
            )
    return server
