"""Describe ``/ip-pools`` and ``/sending-ips`` (spec 4.7)."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.fleet.model import FIRST_STAGE, LAST_STAGE, SHARED
from chalicelib.fleet.store import HISTORY_DAYS
from chalicelib.ip_pools.request import MOST_NAME
from chalicelib.openapi.operation import NO_CONTENT, Operation, Operations, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    flag,
    integer,
    moment,
    nullable,
    obj,
    record,
    text,
)

_POOLS: Final = "/api/v1/ip-pools"
_IPS: Final = "/api/v1/sending-ips"

_NAMES: Final = ("signing_domain", "fbl_signing_domain", "auto_warmup_overflow_pool")
_FIELDS: Final[dict[str, Json]] = {
    "name": text(least=1, most=MOST_NAME),
    **{name: nullable(text(about="An empty string or null removes it")) for name in _NAMES[:2]},
    "auto_warmup_overflow_pool": nullable(
        text(
            about=f"Id of the pool that takes what IPs in warm-up may not send: a pool of the "
            f"account, or `{SHARED}`, which stands for the IPs of the deployment itself (not for "
            "Enterprise). An empty string or null removes it"
        )
    ),
}
_IN_POOL: Final[dict[str, Json | Maybe]] = {
    "external_ip": text(),
    "hostname": text(),
    "auto_warmup_enabled": flag(),
    "auto_warmup_stage": Maybe(integer(FIRST_STAGE, LAST_STAGE)),
}
_OPTIONAL: Final = {name: Maybe(text()) for name in _NAMES}
_POOL: Final = record(id=text(), name=text(), ips=array(record(**_IN_POOL)), **_OPTIONAL)
_IP: Final = record(**_IN_POOL, ip_pool=text(), customer_provided=flag())
_WARMUP_DAY: Final = record(
    date=text(about="Day in UTC, such as `2026-01-31`"),
    stage=integer(FIRST_STAGE, LAST_STAGE),
    sent=integer(0) | {"description": "Messages that were begun on this day"},
    limit=integer(1),
)
_WARMUP: Final = record(
    external_ip=text(),
    auto_warmup_enabled=flag(),
    auto_warmup_stage=Maybe(integer(FIRST_STAGE, LAST_STAGE)),
    next_stage_time=Maybe(
        moment() | {"description": "When the next stage begins, if the IP sends until then"}
    ),
    last_stage=integer(),
    today=Maybe(_WARMUP_DAY),
    history=array(_WARMUP_DAY, most=HISTORY_DAYS)
    | {"description": "Days of the warm-up on which the IP sent, the newest first"},
)

OPERATIONS: Final[Operations] = {
    f"GET {_POOLS}": Operation(results(array(_POOL))),
    f"POST {_POOLS}": Operation(results(record(id=text())), body=obj("name", **_FIELDS)),
    f"GET {_POOLS}/{{pool_id}}": Operation(results(_POOL)),
    f"PUT {_POOLS}/{{pool_id}}": Operation(
        results(record(id=text(), name=text(), **{name: text() for name in _NAMES[1:]})),
        body=obj(**_FIELDS),
    ),
    f"DELETE {_POOLS}/{{pool_id}}": Operation(NO_CONTENT, refusals=(409,)),
    f"GET {_IPS}": Operation(results(array(_IP))),
    f"GET {_IPS}/{{external_ip}}": Operation(results(_IP)),
    f"GET {_IPS}/{{external_ip}}/warmup": Operation(results(_WARMUP), refusals=(400,)),
    f"PUT {_IPS}/{{external_ip}}": Operation(
        results(record(message=text())),
        body=obj(
            ip_pool=text(least=1),
            auto_warmup_enabled=flag(),
            auto_warmup_stage=integer(FIRST_STAGE, LAST_STAGE),
        ),
    ),
}
