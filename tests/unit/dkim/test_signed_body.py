"""The body of any message has the form that RFC 6376 defines, however it is cut into pieces."""

from __future__ import annotations

import mmap
import re
import tempfile
import tracemalloc
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.dkim.signed_body import canonical_body, hash_body
from tests.unit.linear_time import assert_linear

BODIES = st.lists(
    st.sampled_from([b"\r\n", b"\r\n", b" ", b"\t", b"a", b"\r", b"\n", b"bc", b"  ", b" \r\n"]),
    max_size=30,
).map(b"".join)


def reference(body: bytes, *, is_relaxed: bool) -> bytes:
    """Write the rules of RFC 6376 3.4.3 and 3.4.4 down as they are, without regard to time."""
    if is_relaxed:
        body = re.sub(rb"[ \t]+", b" ", body)
        body = body.replace(b" \r\n", b"\r\n").removesuffix(b" ")
    while body.endswith(b"\r\n\r\n"):
        body = body[:-2]
    if body == b"\r\n" and is_relaxed:
        return b""
    is_ended = body.endswith(b"\r\n") or (is_relaxed and not body)
    return body if is_ended else body + b"\r\n"


@pytest.mark.parametrize("is_relaxed", [True, False])
@settings(max_examples=250, deadline=None)
@given(body=BODIES, size=st.integers(1, 7))
def test_any_body_has_its_form_in_pieces_of_any_size(
    is_relaxed: bool, body: bytes, size: int
) -> None:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    form = b"".join(canonical_body(pieces, is_relaxed=is_relaxed))
    assert form == reference(body, is_relaxed=is_relaxed)


def test_a_length_limits_what_is_hashed() -> None:
    octets = b"head\r\n\r\nab\r\ncd\r\n\r\n"
    for length, unsigned in ((0, 8), (3, 5), (8, 0), (9, -1)):
        result = hash_body(octets, 8, is_relaxed=False, length=length)
        assert result == (sha256(b"ab\r\ncd\r\n"[:length]).digest(), unsigned)
    assert hash_body(octets, 8, is_relaxed=True, length=None).unsigned == 0


@pytest.mark.parametrize(
    "unit", [b" ", b"\r\n", b"\r", b"\n", b"a", b" \r\n", b"\r\r\n", b"\n\r\n", b"a ", b"a\r\n\r\n"]
)
def test_time_is_in_proportion_to_the_size(unit: bytes) -> None:
    def form(octets: bytes) -> None:
        hash_body(octets, 0, is_relaxed=True, length=None)

    assert_linear(form, unit * (2_000_000 // len(unit)))


@pytest.mark.parametrize("unit", [b"\r\n", b"some words of a line\r\n", b" ", b"\r\r\n"])
def test_a_large_message_takes_little_memory(unit: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "message"
        path.write_bytes(unit * (20_000_000 // len(unit)) + b"x\r\n")
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as octets,
        ):
            tracemalloc.start()
            hash_body(octets, 0, is_relaxed=True, length=None)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
    assert peak < 8_000_000
