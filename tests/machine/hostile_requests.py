"""Hold the HTTP requests with which strangers try to deceive a server, by what they try."""

from __future__ import annotations

from tests.machine.machine import DOMAIN

HOST = f"Host: {DOMAIN}\r\n".encode()
CLOSE = b"Connection: close\r\n"
#: What a server that reads the end of a request elsewhere takes for a second one
SECOND = b"GET /api/v1 HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n"


def request(line: bytes, *headers: bytes, host: bytes = HOST) -> bytes:
    """Return a request of HTTP/1.1 without a body, after which the connection closes."""
    lines = b"".join(header + b"\r\n" for header in headers)
    return line + b" HTTP/1.1\r\n" + host + CLOSE + lines + b"\r\n"


def _framed(*headers: bytes, body: bytes = b"0\r\n\r\n", version: bytes = b"1.1") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"POST /none HTTP/" + version + b"\r\n" + HOST + lines + b"\r\n" + body + SECOND


_CHUNKED = b"Transfer-Encoding: chunked"

#: Each has two ways to be read; it gets one answer, 400, and the connection closes
AMBIGUOUS = {
    "length before chunks": _framed(b"Content-Length: 6", _CHUNKED),
    "chunks before length": _framed(_CHUNKED, b"Content-Length: 3"),
    "unknown encoding": _framed(b"Transfer-Encoding: xchunked"),
    "identity": _framed(b"Transfer-Encoding: identity", body=b""),
    "chunked is not last": _framed(b"Transfer-Encoding: chunked, identity"),
    "two encodings": _framed(_CHUNKED, b"Transfer-Encoding: x"),
    "blank before the colon": _framed(b"Transfer-Encoding : chunked"),
    "vertical tab": _framed(b"Transfer-Encoding:\x0bchunked"),
    "folded encoding": _framed(b"Transfer-Encoding:\r\n chunked"),
    "folded header": request(b"GET /health", b"X-A: a\r\n b"),
    "folded first header": b"GET /health HTTP/1.1\r\n X-A: a\r\n" + HOST + CLOSE + b"\r\n",
    "two lengths": _framed(b"Content-Length: 0", b"Content-Length: 5", body=b""),
    "the same length twice": _framed(b"Content-Length: 0", b"Content-Length: 0", body=b""),
    "list of lengths": _framed(b"Content-Length: 0, 0", body=b""),
    "length with a sign": _framed(b"Content-Length: +0", body=b""),
    "negative length": _framed(b"Content-Length: -1", body=b""),
    "endless length": _framed(b"Content-Length: 99999999999999999999999", body=b""),
    "bare LF": request(b"GET /health").replace(b"\r\n", b"\n"),
    "one bare LF": request(b"GET /health", b"X: y\nZ: z"),
    "bare CR": request(b"GET /health", b"X: y\rZ: z"),
    "NUL": request(b"GET /health", b"X: y\0z"),
    "chunks that end with LF": _framed(_CHUNKED, body=b"1\nx\n0\n\n"),
    "chunk size with 0x": _framed(_CHUNKED, body=b"0x0\r\n\r\n"),
    "chunk size over 64 bits": _framed(_CHUNKED, body=b"fffffffffffffffff\r\nx\r\n"),
    "LF in a chunk extension": _framed(_CHUNKED, body=b"1;a\nx\r\nx\r\n0\r\n\r\n"),
    "no host": request(b"GET /health", host=b""),
    "two hosts": request(b"GET /health", HOST.strip()),
    "no host name": request(b"GET /health", host=b"Host: a b\r\n"),
    "path outside ASCII": request(b"GET /\xff"),
    "no path": request(b"GET other.example"),
    "tunnel": request(b"CONNECT other.example:443"),
    "HTTP/0.9": b"GET /health\r\n\r\n",
    "HTTP/1.9": b"GET /health HTTP/1.9\r\n" + HOST + CLOSE + b"\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "unknown method": request(b"STEAL /health"),
    "TLS in the clear": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
}

#: Requests whose path would name another host where a URL goes before it
FOREIGN_TARGETS = {
    "user of another host": request(b"GET *@other.example"),
    "longer name": request(b"GET *.other.example/x"),
    "asterisk": request(b"GET *"),
    "absolute": request(b"GET http://other.example/x"),
    "two slashes": request(b"GET //other.example/x"),
    "backslash": request(b"GET /\\other.example/x"),
    "encoded line end": request(b"GET /%0d%0aLocation:%20https://other.example/"),
    "another host": request(b"GET /x", host=b"Host: other.example\r\n"),
    "host with a user": request(b"GET /x", host=b"Host: mail.acme.example@other.example\r\n"),
    "forwarded host": request(b"GET /x", b"X-Forwarded-Host: other.example"),
    "forwarded scheme": request(b"GET /x", b"X-Forwarded-Proto: https"),
}

#: Paths to files of the machine, and to what servers show of themselves
TRAVERSALS = tuple(
    f"{folder}{way}"
    for folder in ("/console/", "/.well-known/acme-challenge/", "/console/vendor/")
    for way in (
        "../app.py",
        "../../tls/service/key.pem",
        "%2e%2e/%2e%2e/secret.key",
        "..%2f..%2fsecret.key",
        "%252e%252e/secret.key",
        "..%5c..%5csecret.key",
        "..\\..\\secret.key",
        "%c0%ae%c0%ae/secret.key",
        "%00",
        "index.html%00.js",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        ".",
        "..",
    )
)
NOTHING_THERE = (
    "/local",
    "/%6cocal/mailbox",
    "/.git/config",
    "/.env",
    "/secret.key",
    "/debug",
    "/debug/pprof/",
    "/server-status",
    "/admin",
    "/console/vendor/",
    "/.well-known/",
    "/.well-known/acme-challenge/",
    "/_ministack/health",
)
