"""Deflate64 is unpacked; the samples were packed by zlib and by the package inflate64."""

from __future__ import annotations

import base64
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.deflate64 import MOST_BYTES, Damaged, unpack

#: It has a copy of 70,000 bytes, and one that begins as far before
_RECORDS = b"".join(b"<record><count>%d</count></record>" % number for number in range(40))
CONTENT = b"<feedback>" + _RECORDS + b" " * 70_000 + b"</feedback>"
PACKED = base64.b64decode(
    "7cHbiRwIDATAVC4D7czsE5rOxW7JPwYJGin/S8RV+FOVv3/pL+HSOAnN9fINobleIlwaJ+HSOAnN9fKB0FwvES6Nk3Bp"
    "nITmevlEaK6XCJfGSbg0TkJzvXwhNNdLhEvjJFwaJ6G5Xr4jNNdLhEvjJFwaJ6G5Xn4gNNdLhEvjJFwaJ6G5Xn4iNNdL"
    "hEvjJFwaJ6G5Xn4hNNdLhEvjJFwaJ6G5Xn4jNNdLhEvjJFwaJ6G5Xv4gNNdLhEvjJFwaJ6G5Xj7eEJrrJcKlcRIujZPQ"
    "XC8fD4TmeolwaZyES+MkNNfLxxOhuV4iXBon4dI4Cc318vFCaK6XCJfGSbg0TkJzvXy8IzTXS4RL4yRcGiehuV4+PhCa"
    "6yXCpXESLo2T0FwvH58IzfUS4dI4CZfGSWiul48vhOZ6iXBpnIRL4yQ018vHN0JzvUS4NE7CpXESmuvl4wehuV4iXBon"
    "4dI4Cc318vmG0FwvES6Nk3BpnITmevl8IDTXS4RL4yRcGiehuV4+nwjN9RLh0jgJl8ZJaK6XzxdCc71EuDROwqVxEprr"
    "5fMdobleIlwaJ+HSOAnN9fL5gdBcLxEujZNwaZyE5nr5/ERorpcIl8ZJuDROQnO9fH4hNNdLhEvjJFwaJ6G5Xj6/EZrr"
    "JcKlcRIujZPQXC+fPwjN9RLh0jgJl8ZJaK6XrzeE5nqJcGmchEvjJDTXy9cDobleIlwaJ+HSOAnN9fL1RGiulwiXxkm4"
    "NE5Cc718vRCa6yXCpXESLo2T0FwvX+8IzfUS4dI4CZfGSWiul68PhOZ6iXBpnIRL4yQ018vXJ0JzvUS4NE7CpXESmuvl"
    "6wuhuV4iXBon4dI4Cc318vWN0FwvES6Nk3BpnITmevn6QWiulwiXxsn//t3/++9fXATEn6r8/Ut/+T8="
)
TEXTS = st.text("abcdefgh<>/", max_size=2_000).map(str.encode)
MODES = st.sampled_from([zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY])


def deflated(content: bytes, level: int = 9, mode: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9, mode)
    return packer.compress(content) + packer.flush()


def test_long_copies_are_unpacked() -> None:
    assert unpack(PACKED) == CONTENT


@given(TEXTS, st.sampled_from([0, 1, 9]), MODES)
def test_what_deflate_and_deflate64_share_is_unpacked(
    content: bytes, level: int, mode: int
) -> None:
    if mode == zlib.Z_DEFAULT_STRATEGY and len(content) > 257:
        content = content[:257]  # a copy of 258 bytes is written otherwise
    assert unpack(deflated(content, level, mode)) == content


@given(st.binary(max_size=40), st.integers(0, len(PACKED)), st.integers(0, 20))
def test_damaged_data_is_refused_or_unpacked(noise: bytes, at: int, length: int) -> None:
    with suppress(Damaged):
        assert len(unpack(PACKED[:at] + noise + PACKED[at + length :])) <= MOST_BYTES + 70_000
    with suppress(Damaged):
        unpack(noise)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut short"),
        (b"\x07", "no kind"),
        (b"\x01\x01\x00\x00\x00", "no size"),
        (b"\x01\x05\x00\xfa\xff12", "cut short"),
        (deflated(b"a" * 60)[:-1], "cut short"),
        (bytes([3 | 0x02 << 3, 0x02]), "before the data|stands for nothing|cut short"),
        (b"\x00\x00\x00\xff\xff" * 1_001, "too many blocks"),
        (b"\x00\xff\xff\x00\x00" * 0 + b"\0\xff\xff\0\0".ljust(65_540, b"x") * 17, "too large"),
    ],
)
def test_what_is_no_deflate64_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(Damaged, match=reason):
        unpack(data)


def test_a_copy_that_grows_too_large_is_refused() -> None:
    packed = deflated(b"ab" * (MOST_BYTES // 2 + 100), mode=zlib.Z_HUFFMAN_ONLY)
    with pytest.raises(Damaged, match="too large"):
        unpack(packed)
