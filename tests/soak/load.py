"""Send mail through every entrance, and remember which recipients were accepted."""

from __future__ import annotations

import itertools
import json
import random
import smtplib
import ssl
import threading
import time
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import Any

from tests.journey.service import KEY, Service

_CONTENT = {
    "from": "soak@example.test",
    "subject": "Order {{number}}",
    "html": '<p>Dear {{name}}, <a href="https://shop.example/{{number}}">look</a></p>' + "x" * 2000,
}
#: A mailbox of the sink lists this many recipients of a name
WAVE = 2000
_KINDS = ("soak",) * 17 + ("bounce-hard",) * 2 + ("defer",)
_PAUSES = {"singles": 0.1, "bulk": 1.2, "scheduled": 3.0, "smtp": 0.3, "inbound": 0.2}
#: The domain that receives
INBOUND_DOMAIN = "inbound.test"
# Some messages are too large for a queue
_INBOUND_LINES = (20,) * 19 + (4_000,)


@dataclass
class Load:
    """Threads that send to ``service`` until :meth:`stop`; each recipient gets one message.

    ``accepted`` holds the recipients for which a 200 or 250 arrived. ``unclear`` holds those of
    SMTP whose connection ended before the reply: the relay may have accepted them. A request over
    HTTP has an idempotency key and is repeated until it is answered. ``received`` holds the ids of
    messages to the inbound domain for which a 250 arrived; each is repeated until it has one.
    """

    service: Service
    seed: int
    accepted: set[str] = field(default_factory=set)
    unclear: set[str] = field(default_factory=set)
    received: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    #: Recipients in requests that were cut off: they may have been counted without being accepted
    cut_off: int = 0

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._numbers = itertools.count()
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        work: dict[str, Callable[[random.Random], None]] = {
            "singles": lambda rng: self._post([self._recipient(rng)]),
            "bulk": lambda rng: self._post([self._recipient(rng) for _ in range(120)]),
            "scheduled": lambda rng: self._post([self._recipient(rng)], starts_in=3),
            "smtp": self._send_by_smtp,
            "inbound": self._receive,
        }
        self._threads = [
            threading.Thread(target=self._run, args=(name, work[name]), name=name) for name in work
        ]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Finish the requests that were begun and return; the service must answer."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    @property
    def waves(self) -> int:
        """How many waves of :data:`WAVE` recipients were begun."""
        return len(self.accepted | self.unclear) // WAVE + 2

    def _run(self, name: str, send: Callable[[random.Random], None]) -> None:
        rng = random.Random(f"{self.seed} {name}")
        while not self._stopping.wait(_PAUSES[name]):
            try:
                send(rng)
            except Exception as error:
                self.wrong.append(f"{name}: {error!r}")
                raise

    def _recipient(self, rng: random.Random) -> str:
        number = next(self._numbers)
        return f"{rng.choice(_KINDS)}+{number // WAVE}.{number}@inbox.test"

    def _post(self, recipients: list[str], starts_in: float = 0.0) -> None:
        body: dict[str, Any] = {
            "content": _CONTENT,
            "recipients": [
                {"address": each, "substitution_data": {"name": each, "number": index}}
                for index, each in enumerate(recipients)
            ],
        }
        if starts_in:
            start = datetime.now(UTC) + timedelta(seconds=starts_in)
            body["options"] = {"start_time": start.isoformat(timespec="seconds")}
        name = recipients[0].partition("@")[0].replace("+", ".")
        headers = {"Idempotency-Key": f"{name}-{self.seed}"}
        while True:
            try:
                response = self.service.request(
                    "POST", "/api/v1/transmissions", body, headers=headers
                )
            except (OSError, urllib.error.URLError, HTTPException):
                self.cut_off += len(recipients)
                time.sleep(0.2)  # the API or all of the service is down
                continue
            if response.status == 200:
                self.accepted.update(recipients)
                return
            # 409: the request before this one died, and its key is kept for a moment
            if response.status not in (409, 429, 500, 502, 503, 504):
                raise AssertionError(f"{response.status}: {response.body!r}")
            time.sleep(0.2)

    def _send_by_smtp(self, rng: random.Random) -> None:
        recipient = self._recipient(rng)
        text = f"From: soak@example.test\r\nTo: {recipient}\r\nSubject: s\r\n\r\nHello\r\n"
        self.unclear.add(recipient)
        try:
            with smtplib.SMTP("127.0.0.1", self.service.smtp_port, timeout=60) as client:
                client.starttls(context=self._context)
                client.login("SMTP_Injection", KEY)
                client.sendmail("soak@example.test", [recipient], text)
                self.accepted.add(recipient)
        except smtplib.SMTPResponseException as error:
            if error.smtp_code >= 500:
                raise
        except smtplib.SMTPRecipientsRefused as error:
            if any(code >= 500 for code, _ in error.recipients.values()):
                raise
        except (OSError, smtplib.SMTPException):
            self.cut_off += 1  # the relay is down

    def _receive(self, rng: random.Random) -> None:
        """Deliver a message to the inbound domain, as the host of a stranger does."""
        number = next(self._numbers)
        lines = "Some words of a message, as they are in the lines of most.\r\n"
        head = f"From: ann@sender.test\r\nSubject: {number}\r\n\r\n"
        text = head + lines * rng.choice(_INBOUND_LINES)
        while True:
            try:
                self.received.add(self._deliver(f"help+{number}@{INBOUND_DOMAIN}", text))
                return
            except (OSError, smtplib.SMTPException) as error:
                if getattr(error, "smtp_code", 0) >= 500:
                    raise
                time.sleep(0.2)  # the relay or all of the service is down

    def _deliver(self, recipient: str, text: str) -> str:
        """Return the id in the reply of a message; raises as smtplib does."""
        port = json.loads((self.service.data_dir / "ports.json").read_text())["inbound"]
        with smtplib.SMTP("127.0.0.1", port, "mx.sender.test", timeout=60) as client:
            client.ehlo()
            for command in ("MAIL FROM:<ann@sender.test>", f"RCPT TO:<{recipient}>"):
                code, reply = client.docmd(command)
                if code != 250:
                    raise smtplib.SMTPResponseException(code, reply)
            code, reply = client.data(text)
            if code != 250:
                raise smtplib.SMTPResponseException(code, reply)
            return reply.decode().split()[-1]
