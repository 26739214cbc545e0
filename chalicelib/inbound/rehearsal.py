"""Read a message in a process that may die, before this process reads it.

A message that ends the process of its worker, with all that this had in hand, is found out so.
"""

from __future__ import annotations

import json
import mmap
import os
from contextlib import closing
from tempfile import NamedTemporaryFile
from typing import Final

from chalicelib.core.confined import Confined
from chalicelib.core.spool import Octets, pieces_of
from chalicelib.mail_verdicts.judge import judge
from chalicelib.mail_verdicts.model import Origin
from chalicelib.received_mail import parsing, reply_text
from chalicelib.received_mail.inbound_queue import InboundHead

_MEMORY: Final = 1024 * 1024 * 1024
_SECONDS: Final = 60.0


def rehearse(head: InboundHead, octets: Octets) -> None:
    """Return if the message can be read.

    Raises ``confined.Died`` if its process died, and ``confined.FunctionFault``.
    """
    origin = (head["peer_ip"], head["helo"], head["mail_from"])
    with (
        NamedTemporaryFile() as file,
        closing(Confined(read_file, memory=_MEMORY, seconds=_SECONDS)) as read,
    ):
        file.writelines(pieces_of(octets))
        file.flush()
        read(json.dumps([file.name, *origin]).encode())


def read_file(argument: bytes) -> bytes:
    """Read the message in a file, in a process of its own, and return nothing."""
    path, *origin = json.loads(argument)
    if not os.path.getsize(path):
        return b""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets:
        reply_text.of(parsing.read(octets))
        judge(octets, Origin(*origin))
    return b""
