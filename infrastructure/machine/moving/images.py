"""Compare items of two places whose secrets are sealed with different keys.

An image is an item in DynamoDB's typed form with its secrets opened, and without what belongs to
the place. Two places have the same item if its images are equal; sealing the same secret twice
gives different bytes. What else is sealed some day must be opened here too; a test watches that.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from chalicelib.core.json_types import Json
from chalicelib.core.sealing import Sealer
from chalicelib.dkim import sealed_key
from chalicelib.users import totp
from chalicelib.webhooks import credentials
from chalicelib.webhooks.store import tokens
from infrastructure.machine.moving.kinds import Kind, without_place

_Change = Callable[[bytes, str], bytes]

#: The sealed secrets of an authenticator in the item of a user; empty where there is none
_TOTP: Final = ("totp", "totp_pending")


def image_of(table: str, kind: Kind, item: Json, sealer: Sealer) -> Json:
    """Return the image of a stored item; raises ``SealBroken`` if a secret has another key."""
    return _with_secrets(table, without_place(kind, item), sealer.open)


def sealed(table: str, image: Json, sealer: Sealer) -> Json:
    """Return the item to store for an image."""
    return _with_secrets(table, image, sealer.seal)


def digest_of(image: Json, key: bytes) -> bytes:
    """Return 16 bytes by which images are compared; images hold secrets, so they need ``key``."""
    return hashlib.blake2b(text_of(image).encode(), key=key, digest_size=16).digest()


def text_of(image: Json) -> str:
    """Return an image as JSON, the same text for equal images."""
    return json.dumps(_canonical_members(image), sort_keys=True, separators=(",", ":"))


def from_text(text: str) -> Json:
    """Return the image that :func:`text_of` wrote."""
    return {name: _from_canonical(value) for name, value in json.loads(text).items()}


def _with_secrets(table: str, item: Json, change: _Change) -> Json:
    """Return an item with each of its secrets changed."""
    result = dict(item)
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    if "sealed" in item:
        context = tokens.context_of(pk.partition("#")[2])
        if table == "config":
            context = credentials.context_of(sk)
        result["sealed"] = {"B": change(item["sealed"]["B"], context)}
    if table == "config" and pk.startswith("user#") and sk == "user":
        context = totp.context_of(item["id"]["S"])
        for name in _TOTP:
            if secret := item[name]["B"]:
                result[name] = {"B": change(secret, context)}
    for name, value in item.items():
        fields = value.get("M", {})
        if "sealed_private" in fields:
            context = sealed_key.context_of(fields["signing_domain"]["S"])
            secret = {"B": change(fields["sealed_private"]["B"], context)}
            result[name] = {"M": {**fields, "sealed_private": secret}}
    return result


def _canonical_members(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _canonical(value) for name, value in members.items()}


def _canonical(value: Mapping[str, Any]) -> Any:
    """Return a typed value with numbers, bytes and sets in one form."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return {"N": _number(content)}
        case "B":
            return {"B": base64.b64encode(content).decode()}
        case "SS":
            return {"SS": sorted(content)}
        case "L":
            return {"L": [_canonical(each) for each in content]}
        case "M":
            return {"M": _canonical_members(content)}
    return value


def _from_canonical(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": base64.b64decode(content)}
    if kind == "L":
        return {"L": [_from_canonical(each) for each in content]}
    if kind == "M":
        return {"M": {name: _from_canonical(each) for name, each in content.items()}}
    return value


def _number(text: str) -> str:
    """Return a number as DynamoDB returns it, without zeros at its end."""
    number = Decimal(text)
    return f"{number.normalize():f}" if number else "0"
