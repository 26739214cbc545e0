"""Compressed reports are unpacked up to a limit."""

from __future__ import annotations

import base64
import gzip
import random
import struct
import zipfile
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.attachments import MOST_BYTES, Unpacker
from tests.unit.domain_reports.test_deflate64 import CONTENT, PACKED
from tests.unit.linear_time import assert_linear

FILES = st.binary(max_size=999).map(lambda content: b"<" + content)


def zipped(*contents: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return archive(
        {f"{number}.xml": content for number, content in enumerate(contents)}, method=method
    )


def archive(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", method) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return file.getvalue()


def unpack(data: bytes) -> list[bytes]:
    return list(Unpacker().contents(data))


def problem(data: bytes) -> str:
    unpacker = Unpacker()
    assert list(unpacker.contents(data)) == []
    return unpacker.problems[0]


@given(FILES)
def test_gzip_and_zip_files_are_unpacked(content: bytes) -> None:
    assert unpack(gzip.compress(content)) == [content]
    assert unpack(zipped(content, b"<other/>")) == [content, b"<other/>"]
    assert unpack(zipped(gzip.compress(content))) == [content]
    assert unpack(gzip.compress(zipped(content))) == [content]


def test_anything_else_stays_as_it_is() -> None:
    assert unpack(b"<feedback/>") == [b"<feedback/>"]
    assert unpack(b"\r\n <feedback/>") == [b"<feedback/>"]
    assert unpack(b"") == [b""]


@given(FILES, st.integers(0, 999), st.binary(max_size=9))
def test_all_members_of_a_gzip_file_are_one_report(content: bytes, at: int, rest: bytes) -> None:
    members = gzip.compress(content[:at]) + gzip.compress(content[at:])
    if not rest.startswith(b"\x1f\x8b"):
        assert unpack(members + rest) == [content]
    assert unpack(b"\r\n" + members + b"\0" * 100) == [content]


def test_a_gzip_file_without_its_end_is_unpacked_as_far_as_it_goes() -> None:
    assert unpack(gzip.compress(b"<feedback/>")[:-8]) == [b"<feedback/>"]


def test_folders_and_other_files_of_a_zip_file_come_last() -> None:
    files = {
        **{"reports/": b"", "README.txt": b"Hello", "__MACOSX/._r.xml": b"\0"},
        **{"reports/R.XML": b"<a/>", "b.json": b"{}", "c.xml.gz": gzip.compress(b"<c/>")},
    }
    assert unpack(archive(files)) == [b"<a/>", b"{}", b"<c/>", b"Hello", b"\0"]


def test_a_zip_file_may_have_descriptors_after_its_data() -> None:
    class Stream(BytesIO):
        def seekable(self) -> bool:
            return False

        def tell(self) -> int:
            raise OSError

    file = Stream()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("r.xml", b"<a/>")
        target.comment = b"by a stream"
    data = file.getvalue()
    assert data[6] & 8, "the sizes are in a descriptor"
    assert unpack(data) == [b"<a/>"]
    assert unpack(data + b"\r\n") == [b"<a/>"]


def with_method(data: bytes, packed: bytes, content: bytes, method: int) -> bytes:
    """Return a zip file of one plain member with another content and method."""
    sizes = struct.pack("<II", len(packed), len(content))
    head, name = bytearray(data[:30]), data[30:35]
    entry = bytearray(data[data.index(b"PK\x01\x02") :])
    head[8:10] = entry[10:12] = method.to_bytes(2, "little")
    head[18:26] = entry[20:28] = sizes
    end = entry.index(b"PK\x05\x06")
    entry[end + 16 : end + 20] = (35 + len(packed)).to_bytes(4, "little")
    return bytes(head) + name + packed + bytes(entry)


def test_a_zip_file_of_windows_is_unpacked() -> None:
    plain = zipped(CONTENT, method=zipfile.ZIP_STORED)
    assert unpack(with_method(plain, PACKED, CONTENT, 9)) == [CONTENT]
    assert "damaged" in problem(with_method(plain, PACKED[:99], CONTENT, 9))


def test_an_encrypted_file_and_an_unknown_method_are_told() -> None:
    plain = zipped(b"<a/>", method=zipfile.ZIP_STORED)
    assert "cannot be read" in problem(with_method(plain, b"<a/>", b"<a/>", 98))
    encrypted = bytearray(plain)
    encrypted[6] |= 1
    encrypted[plain.index(b"PK\x01\x02") + 8] |= 1
    assert "cannot be read" in problem(bytes(encrypted))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zipped])
def test_a_file_may_be_in_base64_that_its_header_conceals(pack: object) -> None:
    assert callable(pack)
    for content in (b'<?xml version="1.0"?><a/>', b'{"a": 1}'):
        assert unpack(base64.encodebytes(pack(content))) == [content]
    assert unpack(b"eyJub3QgYmFzZTY0") == [b'{"not base64'[:12]]


@pytest.mark.parametrize("pack", [gzip.compress, zipped])
def test_what_grows_too_large_is_refused(pack: object) -> None:
    assert callable(pack)
    (content,) = unpack(pack(b"\0" * MOST_BYTES))
    assert len(content) == MOST_BYTES
    assert "too large" in problem(pack(b"\0" * (MOST_BYTES + 1)))


def test_the_limit_is_for_all_files_of_a_message() -> None:
    unpacker = Unpacker()
    half = b"<" * (MOST_BYTES // 2 + 1)
    assert len(list(unpacker.contents(zipped(half, half)))) == 1
    assert list(unpacker.contents(gzip.compress(half))) == []
    assert len(unpacker.problems) == 2


def test_a_large_file_beside_a_report_does_no_harm() -> None:
    assert unpack(archive({"a.bin": b"\0" * MOST_BYTES, "r.xml": b"<a/>"})) == [b"<a/>"]


def test_a_zip_file_with_very_many_files_is_refused() -> None:
    assert "too many" in problem(zipped(*[b""] * 1_001, method=zipfile.ZIP_STORED))


def test_files_are_unpacked_three_times_at_most() -> None:
    data = b"<a/>"
    for _ in range(4):
        data = gzip.compress(data)
    (content,) = unpack(data)
    assert content.startswith(b"\x1f\x8b")


@pytest.mark.parametrize("at", [2, 8], ids=["options", "data"])
def test_a_damaged_member_with_lzma_is_refused(at: int) -> None:
    data = zipped(b"report" * 9, method=zipfile.ZIP_LZMA)
    start = data.index(b"\x05\0]") + at  # from the length of the options, which comes before them
    assert unpack(data) == [b"report" * 9]
    assert "damaged" in problem(data[:start] + b"\xff" * 9 + data[start + 9 :])


def test_a_damaged_member_does_not_conceal_the_others() -> None:
    data = zipped(b"<a>" * 99, b"<b/>")
    damaged = data[:35] + b"\xff" * 3 + data[38:]
    assert unpack(damaged) == [b"<b/>"]


@given(st.binary(min_size=1, max_size=30), st.integers(2, 80))
def test_a_damaged_file_is_refused_or_unpacked(noise: bytes, at: int) -> None:
    for data in (gzip.compress(b"report" * 9), zipped(b"report" * 9), zipped()):
        for damaged in (data[:at] + noise + data[at + len(noise) :], data[: max(4, -at)]):
            assert sum(map(len, unpack(damaged))) <= MOST_BYTES


HOSTILE = {
    "gzip members": gzip.compress(b"") * 100_000,
    "blanks": b" " * 4_000_000,
    "zip entries": b"PK\x01\x02" * 500_000,
    "zip ends": b"PK\x05\x06" * 500_000,
    "base64": b"UEs=" * 500_000,
    "noise": b"PK" + random.Random(1).randbytes(4_000_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_linear_time(name: str) -> None:
    assert_linear(unpack, HOSTILE[name])
