"""Test how octets are held that may be many."""

from __future__ import annotations

import mmap
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import blobs
from chalicelib.core.blobs import BlobMissing
from chalicelib.core.spool import PIECE, Spool, leave, pieces_of


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 100))
def test_octets_are_those_that_were_written(parts: list[bytes], most_in_memory: int) -> None:
    with Spool(most_in_memory) as spool:
        for part in parts:
            spool.write(part)
        expected = b"".join(parts)
        assert spool.size == len(expected)
        assert spool.octets()[:] == expected
        assert b"".join(spool.pieces()) == expected


def test_many_octets_are_in_a_mapped_file() -> None:
    with Spool(10) as spool:
        spool.write(b"Subject: a\r\n")
        spool.write(b"\r\nbody")
        octets = spool.octets()
        assert isinstance(octets, mmap.mmap)
        assert octets.find(b"body") == 14
        assert re.search(rb"\r\n\r\n", octets)


def test_few_octets_stay_in_memory() -> None:
    with Spool(10) as spool:
        spool.write(b"0123456789")
        assert spool.octets() == b"0123456789"


def test_nothing_is_written_after_reading() -> None:
    with Spool() as spool:
        spool.octets()
        with pytest.raises(ValueError, match="read already"):
            spool.write(b"a")


def test_pieces_are_small() -> None:
    octets = bytes(PIECE * 2 + 1)
    assert [len(piece) for piece in pieces_of(octets)] == [PIECE, PIECE, 1]
    assert [len(piece) for piece in pieces_of(octets, 5, 8)] == [3]


@pytest.mark.usefixtures("cloud")
def test_a_large_object_is_stored_and_read_by_a_mapping() -> None:
    with Spool(10) as spool:
        spool.write(bytes(2_000_000))
        blobs.put_large("received/a", spool.octets())
    with blobs.large("received/a") as spool:
        assert isinstance(spool.octets(), mmap.mmap)
        assert spool.octets()[:] == bytes(2_000_000)


@pytest.mark.usefixtures("cloud")
def test_a_large_object_may_be_missing() -> None:
    with pytest.raises(BlobMissing), blobs.large("received/b"):
        pass


def test_pages_that_were_given_back_can_still_be_read() -> None:
    with Spool(10) as spool:
        spool.write(b"a" * 100_000)
        octets = spool.octets()
        assert octets[:] == b"a" * 100_000
        leave(octets)
        assert octets[:] == b"a" * 100_000
        leave(b"in memory")
