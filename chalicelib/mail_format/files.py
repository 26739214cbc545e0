"""Encode files as parts of a message: attachments, and images that the HTML part shows.

Most files leave in base64. Those of type message/rfc822 and the like, and of multipart, may not be
encoded themselves (RFC 2045 6.4, RFC 2046 5.2.1): they leave as they are, and what in them is not
7bit is encoded inside of them. A file keeps its encoded form, so an object shared by the messages
of one transmission is checked and encoded once.
"""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from chalicelib.mail_format.content_ids import content_id
from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.mime_tree import media_type, parse_tree
from chalicelib.mail_format.parameters import parameter
from chalicelib.mail_format.seven_bit import is_composite, seven_bit
from chalicelib.mail_format.transfer_encoding import (
    is_base64,
    is_seven_bit,
    normalise_newlines,
    wrap_base64,
)

_LONGEST_NAME = 255  # bytes, spec 2.2; with it no header line below can pass 998
_LONGEST_TYPE = 900
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TYPE = re.compile(r"[!-~][ -~]*")
_CONTENT_ID = re.compile(r"[^<>]+")

Chunks = list[bytes]


class MimeError(ValueError):
    """A part that a message cannot contain; the text says which and why."""


@dataclass(frozen=True)
class _File:
    """A file: its name, its MIME type as the caller wrote it, base64 without line ends."""

    name: str
    type: str
    data: str

    _disposition: ClassVar[str]

    @cached_property
    def is_composite(self) -> bool:
        """Whether the file may not be encoded as a whole."""
        return is_composite(media_type(self.type))

    @cached_property
    def encoded(self) -> Chunks:
        """The part with its headers, as chunks; raises MimeError (spec 2.2)."""
        if not _TYPE.fullmatch(self.type) or len(self.type) > _LONGEST_TYPE:
            raise self._error(f"{self.type[:80]!r} is not a MIME type")
        if not is_base64(self.data):
            raise self._error("data is not base64 without line ends")
        head = (
            f"Content-Type: {self.type}\r\n"
            f"Content-Transfer-Encoding: {'7bit' if self.is_composite else 'base64'}\r\n"
            f"Content-Disposition: {self._disposition};\r\n {_filename(self.name)}\r\n"
            f"{self._content_id()}\r\n"
        ).encode("ascii")
        if not self.is_composite:
            return [head, *wrap_base64(self.data)]
        try:
            return [_composite(head + normalise_newlines(b64decode(self.data)))]
        except MessageError as fault:
            raise self._error(f"{self.type}: {fault}") from None

    def _content_id(self) -> str:
        """Return the header that names the file, if it has one."""
        return ""

    def _error(self, text: str) -> MimeError:
        return MimeError(f"{self._disposition} {self.name!r}: {text}")


class Attachment(_File):
    """A file that the reader may save."""

    _disposition = "attachment"


class InlineImage(_File):
    """A picture that the HTML part refers to as `cid:name`."""

    _disposition = "inline"

    def _content_id(self) -> str:
        if not _CONTENT_ID.fullmatch(self.name):
            raise MimeError(f"inline image name {self.name!r} cannot be a Content-ID")
        return f"Content-ID: <{content_id(self.name)}>\r\n"


def _composite(part: bytes) -> bytes:
    """Return a part as every host takes it; raises MessageError if it has no such form."""
    converted = seven_bit(part, parse_tree(part))
    if not is_seven_bit(converted):
        raise MessageError("its content is not 7bit and cannot be encoded (RFC 2046 5.2)")
    return converted


def _filename(name: str) -> str:
    if not name or _CONTROL.search(name) or len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise MimeError(f"{name[:80]!r} is not a file name")
    return ";\r\n ".join(parameter("filename", name))
