import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.dkim import canonicalization
from chalicelib.dkim.canonicalization import relaxed_body, relaxed_fields
from tests.unit.dkim.examples import BODIES
from tests.unit.mail_format.examples import examples


def relaxed_line_by_line(body: bytes) -> bytes:
    """Canonicalise line by line, by the words of RFC 6376 3.4.4."""
    lines = [re.sub(rb"[ \t]+", b" ", line).removesuffix(b" ") for line in body.split(b"\r\n")]
    while lines and not lines[-1]:
        lines.pop()
    return b"".join(line + b"\r\n" for line in lines)


@examples(300)
@given(BODIES, st.integers(1, 30))
def test_the_piece_length_does_not_change_the_canonical_body(body: bytes, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canonicalization, "_PIECE", piece)
        assert b"".join(relaxed_body(b"A: b\r\n\r\n" + body, 8)) == relaxed_line_by_line(body)


def test_the_example_of_the_rfc_has_the_printed_result() -> None:
    assert b"".join(relaxed_body(b" C \r\nD \t E\r\n\r\n\r\n", 0)) == b" C\r\nD E\r\n"
    fields = relaxed_fields(b"To: X\r\nSubject : Y\t\r\n\tZ  ", {b"to", b"subject"})
    assert fields == {b"to": [b"to:X\r\n"], b"subject": [b"subject:Y Z\r\n"]}


def test_only_blanks_and_tabs_are_stripped() -> None:
    fields = relaxed_fields(b"Subject: \x0bX\x0c ", {b"subject"})
    assert fields == {b"subject": [b"subject:\x0bX\x0c\r\n"]}
