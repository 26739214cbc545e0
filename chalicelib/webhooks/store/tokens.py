"""Store the OAuth access token of each webhook, sealed, so that processes share it.

Access patterns of ``webhooks``:

- the access token of a webhook → ``webhook#<webhook id>`` / ``token``
"""

from __future__ import annotations

from collections.abc import Iterable

from chalicelib.core import sealing
from chalicelib.core.dynamo import Key, Keyed, Table
from chalicelib.webhooks.model import AccessToken


class AccessTokenItem(Keyed):
    """The access token of a webhook: the fields of ``AccessToken``."""

    #: The token, sealed
    sealed: bytes
    details: str
    fetched_ms: int
    #: In seconds
    expires_in: int | None
    expires: int


_table: Table[AccessTokenItem] = Table("webhooks")

#: Seconds for which a token without a lifetime is stored
_LONGEST_STORED = 30 * 86_400


def get(webhook_id: str) -> AccessToken | None:
    """Return the token of a webhook, or ``None``."""
    item = _table.get(*_key_of(webhook_id))
    return _from_item(item) if item else None


def of_all(webhook_ids: Iterable[str]) -> dict[str, AccessToken]:
    """Return the tokens that these webhooks have; costs a request for 100 of them."""
    ids = {_key_of(webhook_id): webhook_id for webhook_id in webhook_ids}
    return {ids[item["pk"], item["sk"]]: _from_item(item) for item in _table.get_all(ids)}


def put(webhook_id: str, token: AccessToken) -> None:
    """Store a token in place of the webhook's last one."""
    pk, sk = _key_of(webhook_id)
    lifetime = _LONGEST_STORED if token.expires_in is None else token.expires_in
    _table.put(
        {
            "pk": pk,
            "sk": sk,
            "sealed": sealing.seal(token.value.encode(), context_of(webhook_id)),
            "details": token.details,
            "fetched_ms": token.fetched_ms,
            "expires_in": token.expires_in,
            "expires": token.fetched_ms // 1000 + lifetime,
        }
    )


def context_of(webhook_id: str) -> str:
    """Return what the sealed token of a webhook is bound to."""
    return f"token/{webhook_id}"


def _key_of(webhook_id: str) -> Key:
    return (f"webhook#{webhook_id}", "token")


def _from_item(item: AccessTokenItem) -> AccessToken:
    value = sealing.open_sealed(item["sealed"], context_of(item["pk"].partition("#")[2]))
    return AccessToken(value.decode(), item["details"], item["fetched_ms"], item["expires_in"])
