"""Measure what memory the post of a received message of 20 MB to a relay webhook takes.

A process builds the payload of the message, signs it and posts it. What it needed at most (VmHWM)
is compared with what it needed for a small message before. Messages differ in what JSON makes of
their octets: base64, escapes of one more character, or escapes of six characters an octet.
"""

from __future__ import annotations

import base64
import multiprocessing
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

from tests.bench.timing import verdict

MEGABYTES: Final = 60.0
SIZE: Final = 20 * 1024 * 1024
LINES: Final = {
    "a file in base64": b"A" * 76 + b"\r\n",
    "quotation marks": b'"' * 76 + b"\r\n",
    "octets that are no text": b"\xff" * 76 + b"\r\n",
    "control characters": b"\x01" * 76 + b"\r\n",
}
_HEAD: Final = (
    b"From: a@sender.test\r\nTo: b@in.test\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n'
    b"Hello\r\n--x\r\nContent-Type: application/octet-stream\r\n"
    b'Content-Disposition: attachment; filename="a"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
)
_PIECE = 65_536


class _Target(BaseHTTPRequestHandler):
    """Takes each post in pieces and keeps nothing."""

    def do_POST(self) -> None:
        rest = int(self.headers["Content-Length"])
        while rest > 0 and (piece := self.rfile.read(min(rest, _PIECE))):
            rest -= len(piece)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Write no log lines."""


def main() -> None:
    """Print the memory of each message with its bar."""
    os.environ |= {
        "ALLOW_PRIVATE_ADDRESSES": "true",
        "SECRET_KEY": base64.b64encode(os.urandom(32)).decode(),
        "WEBHOOK_TIMEOUT": "60",
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Target)
    Thread(target=server.serve_forever, daemon=True).start()
    context = multiprocessing.get_context("spawn")
    for name, line in LINES.items():
        with context.Pool(1) as pool:
            size, megabytes = pool.apply(post_large, (server.server_port, line))
        holds = verdict(megabytes <= MEGABYTES)
        print(f"{name}: payload of {size / 1e6:.0f} MB, {megabytes:.1f} MB (60: {holds})")
    server.shutdown()


def post_large(port: int, line: bytes) -> tuple[int, float]:
    """Return the size of the payload, and the memory in megabytes that its post needed."""
    _post(port, line, 5_000)
    before = _most_kilobytes()
    size = _post(port, line, SIZE)
    return size, (_most_kilobytes() - before) / 1024


def _post(port: int, line: bytes, size: int) -> int:
    from chalicelib.core.spool import Spool
    from chalicelib.received_mail import parsing
    from chalicelib.received_mail.model import ReceivedMessage
    from chalicelib.relay_webhooks.model import RelayWebhook
    from chalicelib.relaying import payload
    from chalicelib.webhooks import posting
    from chalicelib.webhooks.credentials import Credentials, SigningSecret, seal
    from chalicelib.webhooks.signatures import draw_secret

    credentials = Credentials(signing=(SigningSecret(draw_secret()),))
    target = f"http://127.0.0.1:{port}/"
    webhook = RelayWebhook("1", 1, "", target, "in.test", 0, sealed=seal(credentials, "1"))
    with Spool() as raw:
        raw.write(_HEAD)
        while raw.size < size:
            raw.write(line * min(1000, 1 + (size - raw.size) // len(line)))
        raw.write(b"--x--\r\n")
        octets = raw.octets()
        message = ReceivedMessage(
            **{"id": "0" * 26, "account_id": 1, "subaccount_id": None, "domain": "in.test"},
            **{"received_ms": 0, "rcpt_to": "b@in.test", "mail_from": "a@sender.test"},
            **{"peer_ip": "", "helo": "", "tls": "", "size": raw.size, "action": "webhook"},
        )
        body = payload.build(message, parsing.read(octets), octets)
    with body:
        assert posting.post(webhook, "b", body).is_accepted
        return body.size


def _most_kilobytes() -> int:
    """Return the most memory that this process ever had, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
