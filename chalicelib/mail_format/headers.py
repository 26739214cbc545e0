"""Encode header fields: check, encode and fold them into bytes for a message.

All functions return the complete field with its final CRLF. No value can end the field early or
start another one: CR and LF are refused, not repaired. A NUL is dropped, and any other control
character of ASCII counts as a blank, as the tab does (RFC 5322 2.2.3): nobody can see it, and no
header may hold it. Text outside ASCII becomes RFC 2047 base64 words in UTF-8. So do the control
characters beyond ASCII, which are mostly misread quotes from Windows.
Lines are folded at 78 characters where a blank allows it and never pass 998 bytes (RFC 5322
2.1.1); a line holding encoded words stays within 76.
"""

import re
from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chalicelib.mail_format import structured_fields

_FOLD_AT = 78
_ENCODED_FOLD_AT = 76
_LINE_LIMIT = 998
_WORD_OPEN, _WORD_CLOSE = b" =?utf-8?B?", b"?="
_WORD_BYTES = 45  # 60 base64 characters, and 72 with the frame of the encoded word
_LONGEST_PHRASE_TOKEN = 70
_LONGEST_NAME = 255
_LONGEST_EMAIL = 320  # RFC 3696 erratum 1003: 64 of local part, "@", 255 of domain

_FIELD_NAME = re.compile(r"[!-9;-~]+")
_LINE_END = re.compile(r"[\r\n]")
_BLANKS = dict.fromkeys([*range(1, 32), 127], " ") | {0: None}
_NEEDS_ENCODING = re.compile(r"[^\x00-\x7f]|=\?")
_TOKEN = re.compile(rb" *[^ ]+")
_ATOMS = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*", re.ASCII)
_ATOM = r"[^\s\"(),:;<>@\[\]\\\x00-\x20\x7f-\x9f\ud800-\udfff]+"
_EMAIL = re.compile(
    rf'(?:{_ATOM}|"(?:[^"\\\x00-\x1f\x7f-\x9f\ud800-\udfff]|\\[ -~])*")'
    rf"@(?:{_ATOM}|\[[!-Z^-~]+\])"
)


class HeaderError(ValueError):
    """A header name, value or address that a message cannot contain; the text says why."""


class Address(NamedTuple):
    """A mailbox: display name (or None) and address, both as a reader sees them."""

    name: str | None
    email: str


def encode_header(name: str, value: str) -> bytes:
    """Return the unstructured field `name: value`, encoded and folded, with its CRLF.

    Blanks around the value carry no meaning and are dropped. Only the words from the first to the
    last one that need it are encoded, so an ASCII `<id>` beside them stays readable. ASCII text
    that looks like an encoded word is encoded too, because readers would decode it. A lone
    surrogate becomes `?`.

    A field with a syntax of its own (`structured_fields`) is folded at its commas as well, and no
    part of it is encoded only because it is long. Raises HeaderError (spec 2.2, RFC 5322 2.2, RFC
    2047), also if such a field has no place to fold it.
    """
    _check_field_name(name)
    value = structured_fields.with_ascii_urls(name, _printable(name, value))
    if value.isascii() and ("=?" not in value or not structured_fields.holds_words(name)):
        if len(name) + 2 + len(value) <= _FOLD_AT:
            return f"{name}: {value}\r\n".encode("ascii")
        tokens = _plain_tokens(name, value)
        if max(map(len, tokens)) < _LINE_LIMIT:
            return _fold(name, tokens, _FOLD_AT)
    return _fold(name, _encode_span(name, value), _ENCODED_FOLD_AT)


def fold_header(name: str, value: str) -> bytes:
    """Return a field whose ASCII value is encoded already, folded, with its CRLF.

    Raises HeaderError where a line would still pass the limit.
    """
    _check_field_name(name)
    tokens = _plain_tokens(name, _printable(name, value))
    if max(map(len, tokens), default=0) >= _LINE_LIMIT:
        raise _no_place_to_fold(name)
    return _fold(name, tokens, _FOLD_AT)


def encode_addresses(name: str, addresses: Sequence[Address]) -> bytes:
    """Return the address list field `name: a, b`, encoded and folded, with its CRLF.

    Display names are written as atoms, as a quoted string or as encoded words: the first form that
    can express them. Addresses are not changed, so an internationalised domain stays in the form
    that the caller chose. Raises HeaderError (RFC 5322 3.4, RFC 2047 5).
    """
    _check_field_name(name)
    if not addresses:
        raise HeaderError(f"header {name}: no address given")
    tokens: list[bytes] = []
    for address in addresses:
        tokens += _mailbox(name, address, len(name) + 1 if not tokens else 0)
        tokens[-1] += b","
    tokens[-1] = tokens[-1][:-1]
    encoded = any(token.startswith(_WORD_OPEN) for token in tokens)
    return _fold(name, tokens, _ENCODED_FOLD_AT if encoded else _FOLD_AT)


def _check_field_name(name: str) -> None:
    if len(name) > _LONGEST_NAME or not _FIELD_NAME.fullmatch(name):
        raise HeaderError(f"{name[:80]!r} is not a header name")


def _printable(name: str, value: str) -> str:
    """Return a value without control characters of ASCII and without blanks around it."""
    if value.isprintable():
        return value.strip(" ")
    if _LINE_END.search(value):
        raise HeaderError(f"header {name}: the value must be one line")
    return value.translate(_BLANKS).strip(" ")


def _no_place_to_fold(name: str) -> HeaderError:
    return HeaderError(
        f"header {name}: a line has at most {_LINE_LIMIT} characters, and there is no blank or "
        "comma to fold it at"
    )


def _plain_tokens(name: str, value: str) -> list[bytes]:
    """Return the words of an ASCII value, each behind its blanks.

    Long ones of a structured field are divided where a blank may be added.
    """
    tokens = _TOKEN.findall(b" " + value.encode("ascii"))
    if max(map(len, tokens), default=0) < _LINE_LIMIT or not structured_fields.is_structured(name):
        return tokens
    return [
        piece
        for token in tokens
        for piece in ([token] if len(token) < _LINE_LIMIT else _divided(token))
    ]


def _divided(token: bytes) -> list[bytes]:
    words = structured_fields.items(token.decode("ascii").lstrip(" "))
    return [b" " + word.encode("ascii") for word in words]


def _mailbox(header: str, address: Address, column: int) -> list[bytes]:
    email = address.email
    if not _EMAIL.fullmatch(email) or len(email.encode()) > _LONGEST_EMAIL:
        raise HeaderError(f"header {header}: {email[:80]!r} is not an address")
    name = _printable(header, address.name) if address.name else ""
    if not name:
        return [b" " + email.encode()]
    return [*_phrase(name, column), b" <" + email.encode() + b">"]


def _phrase(name: str, column: int) -> list[bytes]:
    """Encode a display name.

    A quoted string is one token, because readers unfold it differently.
    """
    if name.isascii() and "=?" not in name:
        if _ATOMS.fullmatch(name):
            tokens = _TOKEN.findall(b" " + name.encode("ascii"))
            if max(map(len, tokens)) <= _LONGEST_PHRASE_TOKEN:
                return tokens
        quoted = name.replace("\\", r"\\").replace('"', r"\"")
        if len(quoted) <= _LONGEST_PHRASE_TOKEN:
            return [f' "{quoted}"'.encode("ascii")]
    return _encoded_words(name, column)


def _encode_span(name: str, value: str) -> list[bytes]:
    """Return the tokens of a value, those that cannot stay ASCII as encoded words.

    One blank is left between encoded and plain words; any others are encoded, because readers
    do not agree on how many they keep there.
    """
    column = len(name) + 1
    hard = [match.span() for match in _NEEDS_ENCODING.finditer(value)]
    start = value.rfind(" ", 0, hard[0][0]) + 1 if hard else 0
    before = value[:start].rstrip(" ")
    start = len(before) + 1 if before else 0
    end = value.find(" ", hard[-1][1]) if hard else -1
    after = value[end:].lstrip(" ") if end >= 0 else ""
    end = len(value) - len(after) - 1 if after else len(value)
    plain = [_plain_tokens(name, text) for text in (before, after)]
    if not hard or any(len(token) >= _LINE_LIMIT for tokens in plain for token in tokens):
        if structured_fields.is_structured(name):
            raise _no_place_to_fold(name)
        return _encoded_words(value, column)
    words = _encoded_words(value[start:end], column + sum(map(len, plain[0])))
    return [*plain[0], *words, *plain[1]]


def _encoded_words(text: str, column: int) -> list[bytes]:
    """Divide text into RFC 2047 words between characters; the first one fits after `column`."""
    data = text.encode("utf-8", "replace")
    room = (_ENCODED_FOLD_AT - column - len(_WORD_OPEN) - len(_WORD_CLOSE)) // 4 * 3
    size = room if 4 <= room < _WORD_BYTES else _WORD_BYTES
    words = []
    start = 0
    while start < len(data):
        end = start + size
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        words.append(_WORD_OPEN + b2a_base64(data[start:end], newline=False) + _WORD_CLOSE)
        start, size = end, _WORD_BYTES
    return words


def _fold(name: str, tokens: Iterable[bytes], width: int) -> bytes:
    """Join tokens, each starting with its blanks, into lines of at most `width` if possible.

    A line is not broken right after the colon if possible, because many readers then keep a blank.
    """
    lines: list[bytes] = []
    line = bare = name.encode("ascii") + b":"
    for token in tokens:
        length = len(line) + len(token)
        limit = _LINE_LIMIT if line == bare and not token.startswith(_WORD_OPEN) else width
        if length > limit:
            lines.append(line)
            line = token
        else:
            line += token
    return b"\r\n".join([*lines, line, b""])
