"""Compressed reports are unpacked up to a limit."""

from __future__ import annotations

import gzip
import zipfile
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.attachments import MOST_BYTES, unpack
from chalicelib.domain_reports.model import UnreadableReport


def zipped(*contents: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for number, content in enumerate(contents):
            archive.writestr(f"{number}.xml", content)
    return file.getvalue()


@given(st.binary(max_size=999))
def test_gzip_and_zip_files_are_unpacked(content: bytes) -> None:
    assert unpack(gzip.compress(content)) == content
    assert unpack(zipped(content, b"another")) == content


def test_anything_else_stays_as_it_is() -> None:
    assert unpack(b"<feedback/>") == b"<feedback/>"
    assert unpack(b"") == b""


@pytest.mark.parametrize("pack", [gzip.compress, zipped])
def test_what_grows_too_large_is_refused(pack: object) -> None:
    assert callable(pack)
    assert len(unpack(pack(b"\0" * (MOST_BYTES - 1)))) == MOST_BYTES - 1
    with pytest.raises(UnreadableReport, match="too large"):
        unpack(pack(b"\0" * (MOST_BYTES + 1)))


@pytest.mark.parametrize("at", [2, 8], ids=["options", "data"])
def test_a_damaged_member_with_lzma_is_refused(at: int) -> None:
    data = zipped(b"report" * 9, method=zipfile.ZIP_LZMA)
    start = data.index(b"\x05\0]") + at  # from the length of the options, which comes before them
    assert unpack(data) == b"report" * 9
    with pytest.raises(UnreadableReport, match="damaged"):
        unpack(data[:start] + b"\xff" * 9 + data[start + 9 :])


@given(st.binary(min_size=1, max_size=30), st.integers(2, 80))
def test_a_damaged_file_is_refused_or_unpacked(noise: bytes, at: int) -> None:
    for data in (gzip.compress(b"report" * 9), zipped(b"report" * 9), zipped()):
        with suppress(UnreadableReport):
            assert len(unpack(data[:at] + noise + data[at + len(noise) :])) <= MOST_BYTES
            assert len(unpack(data[: max(4, len(data) - at)])) <= MOST_BYTES
