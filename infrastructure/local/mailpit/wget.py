"""Be the command `wget` of the image, as far as health checks use it.

Mailpit's image has the one of BusyBox, and Compose files ask with it for ``/readyz``:
``wget -q --spider http://localhost:8025/readyz``. Base images of Python have none; one that has a
wget keeps its own.
"""

from __future__ import annotations

import http.client
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask for one URL; return 0 for an answer below 400, 1 for any other one and for none."""
    parser = ArgumentParser(prog="wget", description="Get a URL, for health checks.")
    parser.add_argument("url")
    parser.add_argument("-O", "--output-document", default="", help="a file, or - for the output")
    parser.add_argument("-T", "--timeout", type=float, default=_SECONDS)
    for ignored in ("-q", "--quiet"), ("-nv", "--no-verbose"):
        parser.add_argument(*ignored, action="store_true")
    parser.add_argument("-S", "--server-response", action="store_true", help="print the status")
    parser.add_argument("--spider", action="store_true", help="keep nothing of the answer")
    parser.add_argument("-t", "--tries", help="is ignored: there is one")
    options = parser.parse_args(arguments)
    try:
        status, body = _get(options.url, options.timeout)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"wget: {error}", file=sys.stderr)
        return 1
    if options.server_response:
        print(f"  HTTP/1.1 {status}", file=sys.stderr)
    if status >= 400:
        print(f"wget: server returned error: HTTP {status}", file=sys.stderr)
        return 1
    if not options.spider:
        _write(options.output_document or Path(urlsplit(options.url).path).name, body)
    return 0


def _get(url: str, timeout: float) -> tuple[int, bytes]:
    address = urlsplit(url if "://" in url else f"http://{url}")
    connection = http.client.HTTPConnection(
        address.hostname or "", address.port or 80, timeout=timeout
    )
    path = address.path or "/"
    connection.request("GET", f"{path}?{address.query}" if address.query else path)
    response = connection.getresponse()
    return response.status, response.read()


def _write(name: str, body: bytes) -> None:
    if name == "-":
        sys.stdout.buffer.write(body)
    else:
        Path(name or "index.html").write_bytes(body)


if __name__ == "__main__":
    sys.exit(main())
