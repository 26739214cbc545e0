"""Number and sort the parts of a message as Mailpit does, so that programs find them.

The parts of the message are 1, 2 and so on, and those of a multipart 2 are 2.1, 2.2 and so on. A
message without parts is 0. No program asks for a multipart itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from chalicelib.mail_format import mime_tree
from chalicelib.mail_format.charsets import charset
from infrastructure.local.messages.html import Html
from infrastructure.local.messages.parts import MessagePart, StoredMessage

_PLAIN, _HTML, _OCTETS = "text/plain", "text/html", "application/octet-stream"
_INLINE, _ATTACHMENT = "inline", "attachment"
# What stands between several texts of one message
_BETWEEN = "\n--\n"


class NumberedPart(NamedTuple):
    """A part that is no multipart, with its number and its disposition (in lower case)."""

    part_id: str
    depth: int
    disposition: str
    part: MessagePart

    @property
    def content_type(self) -> str:
        """The media type in lower case."""
        return self.part.content_type


class MimeParts:
    """The parts of a message, by what Mailpit takes them for."""

    def __init__(self, message: StoredMessage) -> None:
        self._message = message
        self._tree = mime_tree.readable_tree(message.content)
        self._is_multipart = len(message.parts) > 0 and len(self._tree) > 1
        self._is_alternative = (
            self._is_multipart and self._tree[0].content_type == "multipart/alternative"
        )

    @cached_property
    def parts(self) -> list[NumberedPart]:
        """All parts that are no multipart, in the order of the message."""
        if not self._tree:
            return [NumberedPart("0", 0, "", part) for part in self._message.parts]
        part_ids = _part_ids(self._tree)
        return [
            NumberedPart(
                part_ids[part.number],
                self._tree[part.number].depth,
                self._tree[part.number].disposition,
                part,
            )
            for part in self._message.parts
        ]

    @cached_property
    def text(self) -> str:
        """The text for a reader; that of the HTML, if there is no other."""
        texts = [each for each in self.parts if _is_body(each, _PLAIN)]
        if self._is_alternative:
            texts = sorted(texts, key=lambda each: each.depth)[:1]
        text = _BETWEEN.join(map(self._decoded, texts))
        return text if text or not self.html else Html(self.html).text

    @cached_property
    def html(self) -> str:
        """The HTML for a reader, empty if there is none."""
        pages = (each for each in self.parts if _is_body(each, _HTML))
        page = next(pages, None)
        return self._decoded(page) if page else ""

    @property
    def attachments(self) -> list[NumberedPart]:
        """The attachments."""
        return [each for each in self._by_depth if self._is_attachment(each)]

    @property
    def inlines(self) -> list[NumberedPart]:
        """What the message itself shows, and parts that do not say what they are for."""
        inlines = [each for each in self._by_depth if self._is_inline(each)]
        return inlines + [each for each in self._by_depth if self._is_other(each)]

    def part(self, part_id: str) -> NumberedPart | None:
        """The attachment or inline part of a number, ``None`` if there is none."""
        parts = (*self.inlines, *self.attachments)
        return next((each for each in parts if each.part_id == part_id), None)

    def data(self, part: NumberedPart) -> bytes:
        """The decoded bytes of a part."""
        return self._message.data(part.part)

    def view(self, parts: Sequence[NumberedPart]) -> list[dict[str, Any]]:
        """Return what the API shows of those of some parts that have a name or a Content-ID."""
        return [self._view(each) for each in parts if each.part.filename or each.part.content_id]

    @property
    def _by_depth(self) -> list[NumberedPart]:
        return sorted(self.parts, key=lambda each: each.depth)

    def _is_attachment(self, each: NumberedPart) -> bool:
        if not self._is_multipart:
            return each.disposition == _ATTACHMENT or self._is_binary(each)
        return each.disposition == _ATTACHMENT or each.content_type == _OCTETS

    def _is_inline(self, each: NumberedPart) -> bool:
        if not self._is_multipart:
            return each.disposition == _INLINE and each.content_type not in (_PLAIN, _HTML)
        return each.disposition == _INLINE

    def _is_other(self, each: NumberedPart) -> bool:
        is_body = each.content_type in (_PLAIN, _HTML)
        return self._is_multipart and not (each.disposition or is_body or self._is_attachment(each))

    def _is_binary(self, each: NumberedPart) -> bool:
        is_body = each.content_type in (_PLAIN, _HTML)
        return not is_body and each.disposition != _INLINE

    def _decoded(self, each: NumberedPart) -> str:
        data = self.data(each)
        try:
            return data.decode(charset(each.part.charset or "utf-8"), "replace")
        except LookupError:
            return data.decode("utf-8", "replace")

    def _view(self, each: NumberedPart) -> dict[str, Any]:
        data = self.data(each)
        return {
            "PartID": each.part_id,
            "FileName": each.part.filename or each.part.content_id,
            "ContentType": each.content_type,
            "ContentID": each.part.content_id,
            "Size": len(data),
            "Checksums": {
                "MD5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
                "SHA1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
                "SHA256": hashlib.sha256(data).hexdigest(),
            },
        }


def _is_body(each: NumberedPart, content_type: str) -> bool:
    return each.content_type == content_type and each.disposition != _ATTACHMENT


def _part_ids(tree: Sequence[mime_tree.MimePart]) -> list[str]:
    return list(_numbers(tree))


def _numbers(tree: Sequence[mime_tree.MimePart]) -> Iterator[str]:
    prefixes: list[str] = []
    children = [0] * len(tree)
    for node in tree:
        if node.parent is None:
            prefixes.append("")
            yield "0"
            continue
        children[node.parent] += 1
        number = f"{prefixes[node.parent]}{children[node.parent]}"
        prefixes.append(f"{number}.")
        yield number
