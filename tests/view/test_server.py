"""Who may ask the viewer's server: whoever has the address, from this machine, for a page of its own."""

import http.client
import json
import socket
import threading
import zlib

import pytest

from seismo.errors import SeismoError, UsageError
from seismo.view.server import Answer, NothingThereError, Server


def answers(path, query):
    if path == "missing":
        raise NothingThereError("there is nothing of this name")
    if path == "wrong":
        raise UsageError("from is no number")
    if path == "large":
        return Answer(b"0123456789" * 10_000, "text/plain")
    return Answer(json.dumps([path, dict(query)]).encode(), "application/json", "default-src 'none'")


@pytest.fixture(scope="module")
def server():
    it = Server(answers)
    thread = threading.Thread(target=it.serve)
    thread.start()
    yield it
    it.shutdown()
    it.server_close()
    thread.join()


def asked(server, path, method="GET", host=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    if host != "":
        connection.putheader("Host", host or f"127.0.0.1:{server.port}")
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, answer.headers


def test_who_has_the_address_is_answered(server):
    status, body, headers = asked(server, f"/{server.token}/0/rows?from=1&to=2")
    assert (status, json.loads(body)) == (200, ["0/rows", {"from": "1", "to": "2"}])
    assert headers["Content-Security-Policy"] == "default-src 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers
    assert "Python" not in headers["Server"]
    assert server.url == f"http://127.0.0.1:{server.port}/{server.token}/"
    assert asked(server, f"/{server.token}/", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("path", ["/", "/wrong/", "/{token}", "/{token}x/", "/%00/", "/..//{token}/"])
def test_without_the_token_there_is_nothing(server, path):
    status, body, _ = asked(server, path.format(token=server.token))
    assert status == 404
    assert server.token.encode() not in body


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "evil.example:{port}", ""])
def test_another_host_is_refused(server, host):
    """A name that somebody points at this machine would make us his own site."""
    status, _, _ = asked(server, f"/{server.token}/", host=host.format(port=server.port))
    assert status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_another_site_is_refused(server, headers):
    assert asked(server, f"/{server.token}/recordings", **headers)[0] == 403


def test_our_own_page_may_ask(server):
    origin = f"http://127.0.0.1:{server.port}"
    assert asked(server, f"/{server.token}/recordings", Origin=origin, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(server, method):
    assert asked(server, f"/{server.token}/", method=method)[0] == 501


def test_errors_are_sentences(server):
    assert asked(server, f"/{server.token}/missing")[:2] == (404, b"there is nothing of this name")
    assert asked(server, f"/{server.token}/wrong")[:2] == (400, b"from is no number")
    many = "&".join(f"a{i}=1" for i in range(100))
    assert asked(server, f"/{server.token}/x?{many}")[0] == 400


def test_large_answers_are_packed_for_who_takes_them(server):
    plain = asked(server, f"/{server.token}/large")
    packed = asked(server, f"/{server.token}/large", Accept_Encoding="gzip, br")
    assert packed[2]["Content-Encoding"] == "gzip"
    assert zlib.decompress(packed[1], 31) == plain[1]
    assert len(packed[1]) < len(plain[1]) / 10
    assert asked(server, f"/{server.token}/large", method="HEAD")[1] == b""


def test_it_listens_on_the_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as stream:
        stream.sendall(b"\x00\xff nonsense\r\n\r\n")
        stream.recv(1000)
    assert asked(server, f"/{server.token}/")[0] == 200


def test_a_port_in_use_is_an_error(server):
    with pytest.raises(UsageError, match="cannot be used"):
        Server(answers, server.port)
    with pytest.raises(SeismoError, match="is no port"):
        Server(answers, 1 << 20)


def test_addresses_differ_each_time(server):
    other = Server(answers)
    other.server_close()
    assert other.token != server.token
    assert len(server.token) >= 32
