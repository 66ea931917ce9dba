"""The HTTP transport of `seismo view`, for this machine only and for users with the printed address.

Pages of other sites and other users of this machine must not read a recording, because it holds names, paths and
source. So the server listens on the loopback interface only, at a port that the system chooses. Every path begins with
a random token. The Host header must be one of the server's, which prevents DNS rebinding. Answers to other origins are
refused.

One lock serializes the answers, because recordings are read lazily by code that is not thread-safe. A request takes
milliseconds.
"""

from __future__ import annotations

import gzip
import hmac
import secrets
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from seismo.errors import SeismoError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answers = Callable[[str, Mapping[str, str]], "Answer"]

HOSTS = ("127.0.0.1", "localhost")
SILENT_S = 20  # an idle connection is closed after this time
MOST_FIELDS = 32
PACK_FROM = 4096  # bytes; smaller answers are not compressed

POLICY = (
    "default-src 'none'; connect-src 'self'; style-src {style}; script-src {script}; img-src 'self' data:; "
    "frame-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)


class Answer(NamedTuple):
    """An HTTP response. policy: the Content-Security-Policy, or "" if the content has its own or is not a page."""

    content: bytes
    media_type: str
    policy: str = ""
    status: int = 200


class NothingThereError(SeismoError):
    """The path, or the object it names, does not exist."""


class Server(ThreadingHTTPServer):
    """A server that answers answers(path, query) under a secret address until it is closed."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answers: Answers, port: int = 0) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            hint = "give another one, or none: the system then chooses one that is free"
            raise UsageError(f"port {port} cannot be used: {error.strerror or error}", "--port", hint) from None
        except OverflowError:
            raise UsageError(f"{port} is no port", "--port", "give one from 1024 to 65535, or none") from None
        self.port: int = self.server_address[1]
        self._hosts = {f"{name}:{self.port}" for name in HOSTS}

    @property
    def url(self) -> str:
        """Return the address for the browser, with the token."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer requests until an interrupt, or until shutdown() is called from another thread."""
        self.serve_forever(poll_interval=0.2)

    def server_bind(self) -> None:
        """Bind the socket as the base class does, but without a DNS lookup of the host's name."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a browser that disconnects, and report any other error, which is a bug."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError, ValueError)):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Return the reason for which the request is refused, or "" if it may be answered."""
        if headers.get("Host", "").lower() not in self._hosts:
            return "the Host header is not this server's"
        if headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            return "another site asks"
        origin = headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return "another site asks"
        return ""

    def answer(self, target: str, headers: Mapping[str, str]) -> Answer:
        """Return the answer to a request for the target, `/TOKEN/path?query`."""
        why = self.refusal(headers)
        if why:
            return _text_answer(403, why)
        try:
            parts = urlsplit(target)
            query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=MOST_FIELDS))
        except ValueError:
            return _text_answer(400, "the address makes no sense")
        token, slash, path = parts.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode()) or not slash:
            return _text_answer(
                404, "there is nothing here: use the address that seismo view printed, with all its letters"
            )
        with self._lock:
            try:
                return self._answers(path, query)
            except NothingThereError as error:
                return _text_answer(404, str(error))
            except SeismoError as error:
                return _text_answer(400, ": ".join(error.lines()))
            except MemoryError:
                return _text_answer(500, "out of memory")


def _text_answer(status: int, text: str) -> Answer:
    return Answer(text.encode("utf-8", "replace"), "text/plain; charset=utf-8", status=status)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = SILENT_S
    server: Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)

    def do_GET(self) -> None:
        answer = self.server.answer(self.path, self.headers)  # type: ignore[arg-type]
        content, packed = answer.content, False
        if len(content) >= PACK_FROM and "gzip" in self.headers.get("Accept-Encoding", ""):
            content, packed = gzip.compress(content, 1), True
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(content)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        if answer.policy:
            self.send_header("Content-Security-Policy", answer.policy)
        for name, value in _ALWAYS:
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815  http.server looks for this name

    def version_string(self) -> str:
        return "seismo"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name for it
        """Print nothing, because the terminal is the user's and the address is a secret."""


_ALWAYS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "SAMEORIGIN"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
