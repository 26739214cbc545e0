"""A large message that is forwarded is in memory at most twice at a time, in each of its steps.

Blocks are measured, and not the process, so that what else happens in it makes no difference.
"""

from __future__ import annotations

import os
import tracemalloc
from base64 import encodebytes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from chalicelib.core import queues
from chalicelib.core.spool import PIECE, Octets, Spool, pieces_of
from chalicelib.generation.chunk import generate_chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.inbound.forwarding import forward
from tests.fake_cloud import queued_work
from tests.unit.generation.examples import make_sender
from tests.unit.inbound.received import AT_MS
from tests.unit.inbound.test_forwarding import message

pytestmark = pytest.mark.usefixtures("cloud", "time")

T = TypeVar("T")

NAME = "mail.example.test"

HEAD = (
    b"From: Ann <ann@inbox.test>\r\nTo: help@in.example.test\r\nSubject: Large\r\n"
    b"MIME-Version: 1.0\r\nContent-Type: application/pdf\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\n"
)
LARGE = HEAD + encodebytes(os.urandom(6_000_000)).replace(b"\n", b"\r\n")


def copies(step: Callable[[], T]) -> tuple[T, float]:
    """Return what a step returns, and how often the message was in memory beyond before."""
    tracemalloc.start()
    result = step()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return result, peak / len(LARGE)


@pytest.fixture
def _objects_are_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Store objects outside of this process, as a real cloud does."""

    def path_of(key: str) -> Path:
        return tmp_path / key.replace("/", "-")

    def put_large(key: str, octets: Octets) -> None:
        with path_of(key).open("wb") as file:
            file.writelines(pieces_of(octets))

    @contextmanager
    def pieces(key: str) -> Iterator[Iterator[bytes]]:
        with path_of(key).open("rb") as file:
            yield iter(lambda: file.read(PIECE), b"")

    monkeypatch.setattr("chalicelib.core.blobs.put_large", put_large)
    monkeypatch.setattr("chalicelib.core.blobs.pieces", pieces)


@pytest.mark.usefixtures("_objects_are_files")
def test_each_step_holds_few_copies() -> None:
    make_sender()
    warm = HEAD + b"eA==\r\n"
    forward(message(domain=NAME, id=f"{AT_MS:012x}{'b' * 14}"), warm)
    generate_chunk(read_chunk(queues.read(queued_work()[0])), AT_MS)

    with Spool() as spool:
        spool.write(LARGE)
        octets = spool.octets()
        _, accepting = copies(lambda: forward(message(domain=NAME), octets))
    (work,) = queued_work()
    chunk, reading = copies(lambda: read_chunk(queues.read(work)))
    generated, generating = copies(lambda: generate_chunk(chunk, AT_MS))

    (copy,) = generated.delivery_batch.messages
    assert copy.data.endswith(LARGE[len(HEAD) :])
    # The chunk has one copy, beside which there is another when the message is signed
    assert (accepting < 2.5, reading < 2.5, generating < 1.5) == (True, True, True)
