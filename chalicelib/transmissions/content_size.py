"""Refuse content that cannot fit into a message (spec 2.2), as far as that is known at acceptance.

A text with a tag may shrink or grow by its data, so that only its source counts; what a message
becomes is judged when it is generated. Any other text and every file are known in the form in which
a message carries them: with the line ends and the transfer encoding that it gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chalicelib.core.errors import ContentTooLarge
from chalicelib.core.settings import settings
from chalicelib.mail_format.transfer_encoding import encode_text, normalise_newlines

_MOST_GROWTH: Final = 4  # quoted-printable writes a byte as three, and breaks lines


def check_size(size: int) -> None:
    """Raise 422 with code 1300 for content of more bytes than a message may have."""
    if size > (most := settings().max_message_bytes):
        raise ContentTooLarge(f"field 'content' has length '{size}', but max length is '{most}'")


def check_encoded_size(texts: Iterable[str], files_size: int, *, substitutes: bool) -> None:
    """Raise 1300 for texts that do not fit into a message beside parts of ``files_size`` bytes.

    They are encoded only if that could decide: most content is small.
    """
    texts = list(texts)
    if files_size + _MOST_GROWTH * source_size(texts) > settings().max_message_bytes:
        check_size(files_size + sum(_encoded_size(text, substitutes) for text in texts))


def check_message_size(message: str, *, substitutes: bool) -> None:
    """Raise 1300 for a pre-built message that is too large once all its lines end with CRLF."""
    source = _bytes(message)
    grows = not _may_shrink(message, substitutes)
    check_size(len(normalise_newlines(source) if grows else source))


def source_size(texts: Iterable[str]) -> int:
    """Return the bytes of texts as they came."""
    return sum(len(_bytes(text)) for text in texts)


def _encoded_size(text: str, substitutes: bool) -> int:
    return len(_bytes(text) if _may_shrink(text, substitutes) else encode_text(text).body)


def _may_shrink(text: str, substitutes: bool) -> bool:
    return substitutes and "{{" in text


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
