"""The text of reports is decoded, whatever character set they are in."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.report_text import first_character, pieces

TEXT = '<?xml version="1.0" encoding="UTF-8"?><a>Café 漢字 \U0001f600</a>'


def text_of(content: bytes) -> str:
    return "".join(pieces(content))


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]
)
@pytest.mark.parametrize("padding", ["", "x" * 65_530, "é" * 65_535])
def test_unicode_is_recognized_by_its_bytes(encoding: str, padding: str) -> None:
    text = TEXT + padding + "漢" * 9
    assert text_of(text.encode(encoding)) == text
    assert first_character(text.encode(encoding)) == "<"


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE])
def test_a_byte_order_mark_decides(mark: bytes) -> None:
    names = {2: "utf-16-be", 4: "utf-32-be" if mark[0] == 0 else "utf-32-le"}
    assert text_of(mark + TEXT.encode(names[len(mark)])) == TEXT


@pytest.mark.parametrize("name", ["ISO-8859-1", "windows-1252", "iso-8859-15", "koi8-r"])
def test_another_character_set_is_believed_if_the_text_is_no_utf_8(name: str) -> None:
    text = f"<?xml version='1.0' encoding='{name}'?><a>\xe9</a>".replace(
        "\xe9", bytes([0xE9]).decode(name)
    )
    assert text_of(text.encode(name)) == text
    assert text_of(text.encode("utf-8")) == text


@pytest.mark.parametrize("name", ["no-such", "punycode", "idna", "utf-7", "UTF-16"])
def test_other_names_are_not_believed(name: str) -> None:
    text = f'<?xml version="1.0" encoding="{name}"?><a>é</a>'
    assert text_of(text.encode()) == text


def test_a_byte_that_is_no_text_is_replaced() -> None:
    assert text_of(b"<a>Caf\x91 Mail</a>") == "<a>Caf\ufffd Mail</a>"
    assert text_of("<a>Café".encode("utf-16")[:-1]) == "<a>Caf\ufffd"


@given(st.binary(max_size=300))
def test_any_bytes_become_text(content: bytes) -> None:
    assert len(text_of(content)) <= len(content) + 1
    assert len(first_character(content)) <= 1


def test_blanks_before_the_first_character_are_none() -> None:
    assert first_character(b" \r\n\t{}") == "{"
    assert first_character("\ufeff \n<a/>".encode()) == "<"
    assert first_character(b"") == ""


def test_pieces_are_short() -> None:
    assert max(map(len, pieces(b"x" * 1_000_000))) <= 8_192
