"""Encode recipients in their stored form (``recipients``), each of them once.

A recipient is encoded as soon as it was checked. What stores or queues recipients puts the encoded
ones together, so that a large request is not encoded again for its limits and for its chunks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NotRequired

from pydantic_core import to_json

from chalicelib.core.json_types import Json
from chalicelib.core.typed_dicts import TypedDict

_decoder = json.JSONDecoder()


class RecipientOptions(TypedDict, total=False):
    """A recipient's own options, which beat the transmission's (spec 2.1)."""

    open_tracking: bool
    click_tracking: bool
    initial_open: bool


class OriginalRecipient(TypedDict):
    """The recipient whose tracked links an archive copy has, with the index in the transmission."""

    index: int
    email: str


class StoredRecipient(TypedDict):
    """A recipient as it is stored and queued (spec 2.1), with the fields that the request has.

    ``rcpt_type`` is the kind of a copy of an SMTP message, and only archive copies are
    ``tracked_as`` another recipient (``transmissions.copies``).
    """

    email: str
    name: NotRequired[str]
    header_to: NotRequired[str]
    tags: NotRequired[list[str]]
    metadata: NotRequired[Json]
    substitution_data: NotRequired[Json]
    options: NotRequired[RecipientOptions]
    return_path: NotRequired[str]
    rcpt_type: NotRequired[str]
    tracked_as: NotRequired[OriginalRecipient]


def encode(recipient: StoredRecipient) -> bytes:
    """Return a recipient as JSON."""
    return to_json(recipient)


def decode(encoded: bytes) -> StoredRecipient:
    """Return the recipient that :func:`encode` was given."""
    return json.loads(encoded)


def join(encoded: Iterable[bytes]) -> bytes:
    """Return encoded recipients as one JSON array."""
    return b"[%b]" % b",".join(encoded)


def iterate(array: bytes) -> Iterator[bytes]:
    """Yield the encoded recipients of an array, of which only one at a time is decoded.

    Objects take up to 25 times the memory of their JSON, and a caller chooses the JSON.
    """
    text, start = array.decode(), 1
    while start < len(text) - 1:
        _, end = _decoder.raw_decode(text, start)
        yield text[start:end].encode()
        start = end + len(",")


def split(array: bytes) -> list[StoredRecipient]:
    """Return the recipients of an array that :func:`join` returned."""
    return json.loads(array)
