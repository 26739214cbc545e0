"""Read what a mail server stored, once its queue is empty."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chalicelib.delivery.transports import OutboundMessage

_SECONDS = 20.0
_LINE_END = re.compile(rb"\r\n|\r|\n")
_numbers = itertools.count(1)


def message(
    body: bytes = b"Hello.\r\n",
    recipient: str = "ben@inbox.test",
    sender: str = "ann@sender.test",
    header: bytes = b"",
) -> OutboundMessage:
    """Return a message that differs from all others of this process."""
    head = b"Subject: %d.%d\r\n" % (os.getpid(), next(_numbers))
    head += b"From: ann@sender.test\r\nDate: Mon, 2 Mar 2026 10:00:00 +0000\r\n"
    head += b"Message-ID: <%d@sender.test>\r\n" % time.monotonic_ns()
    return OutboundMessage(sender, recipient, head + header + b"\r\n" + body)


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The messages of a server: files under `folder`, and `queues` that are empty in the end."""

    folder: Path
    queues: Sequence[Path]

    def copies(self, original: OutboundMessage, at_least: int = 0) -> list[bytes]:
        """Return the stored copies of a message, when the server has no message in its queue.

        Waits until there are as many as `at_least`. Each is what the server stored, with LF as
        line end, from the first line of the message on: servers add header fields above.
        """
        subject = original.data.partition(b"\r\n")[0] + b"\n"
        deadline = time.monotonic() + _SECONDS
        while True:
            idle = not any(_files(queue) for queue in self.queues)
            copies = [
                data[data.index(subject) :]
                for data in (file.read_bytes().replace(b"\r\n", b"\n") for file in self._files())
                if subject in data
            ]
            if (idle and len(copies) >= at_least) or time.monotonic() > deadline:
                return copies
            time.sleep(0.01)

    def _files(self) -> list[Path]:
        return _files(self.folder, "new")


def _files(folder: Path, parent: str = "") -> list[Path]:
    return [
        Path(path) / name
        for path, _, names in os.walk(folder)
        for name in names
        if not parent or Path(path).name == parent
    ]


def with_line_feeds(data: bytes) -> bytes:
    """Return a message as servers store it: each line end is LF, also the last one."""
    lines = _LINE_END.sub(b"\n", data)
    return lines if lines.endswith(b"\n") else lines + b"\n"
