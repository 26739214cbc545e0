"""Hold a webhook's secrets: its credentials, custom headers and signing secrets.

They are sealed in the webhook's record, and opened only to post a batch or to show them to a caller
who may change the webhook.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from chalicelib.core import sealing


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """A secret of the Standard Webhooks scheme; in use until ``until_ms`` after it was replaced."""

    secret: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """The secrets of one webhook; ``auth_type`` decides which of the first four are in use."""

    username: str = ""
    password: str = ""
    token_url: str = ""
    token_body: Mapping[str, Any] = field(default_factory=dict)
    auth_token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    signing: tuple[SigningSecret, ...] = ()


def seal(credentials: Credentials, webhook_id: str) -> bytes:
    """Return the credentials sealed for this webhook."""
    text = json.dumps(asdict(credentials), separators=(",", ":"))
    return sealing.seal(text.encode(), context_of(webhook_id))


@lru_cache(maxsize=1024)
def open_sealed(sealed: bytes, webhook_id: str) -> Credentials:
    """Return the credentials that :func:`seal` sealed."""
    fields = json.loads(sealing.open_sealed(sealed, context_of(webhook_id)))
    signing = tuple(SigningSecret(**secret) for secret in fields.pop("signing"))
    return Credentials(**fields, signing=signing)


def resealed(sealed: bytes, webhook_id: str, edit: Callable[[Credentials], Credentials]) -> bytes:
    """Return sealed credentials as ``edit`` changes them.

    Without a change they stay as they are: sealing again would make them differ.
    """
    before = open_sealed(sealed, webhook_id)
    after = edit(before)
    return sealed if after == before else seal(after, webhook_id)


def context_of(webhook_id: str) -> str:
    """Return what the sealed credentials of a webhook are bound to."""
    return f"webhook/{webhook_id}"
