"""Describe ``/api-keys`` and ``/authenticate/grants``."""

from __future__ import annotations

from typing import Final

from chalicelib.api_keys.grants import GRANTS
from chalicelib.api_keys.request import MOST_ADDRESSES, MOST_LABEL
from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import NO_CONTENT, Operation, Operations, query, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    moment,
    nullable,
    obj,
    one_of,
    record,
    text,
)
from chalicelib.users.roles import CUSTOM, ROLES

_PATH: Final = "/api/v1/api-keys"
_ROLES: Final = [role for role in ROLES if role != CUSTOM]
_FIELDS: Final[dict[str, Json]] = {
    "label": text(least=1, most=MOST_LABEL),
    "grants": array(one_of(grant.key for grant in GRANTS)),
    "valid_ips": nullable(array(text(about="An IP address or a network"), most=MOST_ADDRESSES))
    | {"description": "Addresses that may use the key. An empty array or null: every address"},
    "expires_at": nullable(moment())
    | {"description": "The end of the key, in the future: from then on it is refused. Null: none"},
}
_SHOWN: Final[dict[str, Json | Maybe]] = {
    "id": text(),
    "label": text(),
    "short_key": text(),
    "grants": array(text()),
    "valid_ips": array(text()),
    "created_at": moment(),
    "created_by": nullable(
        record(
            type=one_of(["user", "key", "operator"]),
            id=text(),
            label=text(about="The user's address, the key's label or the operator's command"),
        )
    )
    | {"description": "Who made the key. Null: unknown, as for the first key"},
    "expires_at": nullable(moment()) | {"description": "The end of the key. Null: none"},
    "last_used": nullable(moment())
    | {"description": "The hour in which the key was last used. Null: never"},
    "subaccount_id": Maybe(integer(1)),
}
_KEY: Final = record(**_SHOWN)
_SUBACCOUNT: Final = record(id=integer(1), name=Maybe(text()), status=Maybe(text()))
_CURRENT_KEY: Final = record(
    **_SHOWN,
    customer_id=integer() | {"description": "The account"},
    subaccount=nullable(_SUBACCOUNT)
    | {
        "description": "The subaccount that the request acts for: that of the key, or the one that "
        "the header names. Null: the account itself"
    },
)

OPERATIONS: Final[Operations] = {
    "GET /api/v1/authenticate/grants": Operation(
        results(
            array(
                record(
                    key=text(),
                    label=text(),
                    description=text(),
                    used=flag()
                    | {
                        "description": "`false`: a key may have it, and nothing in this service "
                        "asks for it"
                    },
                    roles=array(one_of(_ROLES))
                    | {"description": "The roles whose users have it, when tied to no subaccount"},
                )
            )
        ),
        parameters=(
            query("role", text(), "`subaccount`: only grants that a subaccount's key can have"),
        ),
    ),
    f"GET {_PATH}": Operation(
        results(array(_KEY)),
        parameters=(
            query("label", text(most=MOST_LABEL), "Only keys whose label contains this text"),
            query("expires_before", moment(), "Only keys that end, or ended, before this time"),
            query(
                "last_used_before",
                moment(),
                "Only keys that were last used before this time, and those that never were",
            ),
        ),
    ),
    f"POST {_PATH}": Operation(
        results(
            record(
                id=text(),
                key=text(about="The key; it is shown only this once"),
                short_key=text(),
                label=text(),
            )
        ),
        body=obj("label", "grants", **_FIELDS),
    ),
    f"GET {_PATH}/current": Operation(results(_CURRENT_KEY)),
    f"GET {_PATH}/{{key_id}}": Operation(results(_KEY)),
    f"PUT {_PATH}/{{key_id}}": Operation(results(record(message=text())), body=obj(**_FIELDS)),
    f"DELETE {_PATH}/{{key_id}}": Operation(NO_CONTENT),
}
