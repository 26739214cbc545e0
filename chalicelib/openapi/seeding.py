"""Describe ``/inline-seeds`` and ``/seeds`` (spec 4.12): copies of campaigns to seed addresses."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import NO_CONTENT, Operation, Operations, query, results
from chalicelib.openapi.schema import (
    Maybe,
    array,
    either,
    flag,
    integer,
    nullable,
    obj,
    of_model,
    record,
    text,
)
from chalicelib.seeding.model import MOST_RULES, RANGES
from chalicelib.seeding.request import OptionsBody

_PATH: Final = "/api/v1/inline-seeds"

_RULES: Final = array(text(least=1), most=MOST_RULES)
_CONFIG: Final[dict[str, Json]] = {
    **{name: integer(*bounds) for name, bounds in RANGES.items()},
    "match": _RULES,
    "exclude": _RULES,
}
_STATUS: Final = record(
    campaign=text(),
    sending_domain=text(),
    count=integer(0),
    threshold=integer(0),
    seed_start=nullable(integer()),
    duration=integer(0),
    subaccount_id=Maybe(integer(1)),
)
_OPTIONS: Final = record(
    enabled=flag(), account_enabled=Maybe(flag()), subaccount_id=Maybe(integer(1))
)

OPERATIONS: Final[Operations] = {
    "GET /api/v1/seeds": Operation(results(array(text()))),
    f"GET {_PATH}/config": Operation(results(obj(**_CONFIG))),
    f"POST {_PATH}/config": Operation(results(record(**_CONFIG)), body=obj(**_CONFIG)),
    f"PUT {_PATH}/config": Operation(results(record(**_CONFIG)), body=obj(**_CONFIG)),
    f"GET {_PATH}/status": Operation(
        results(either(array(_STATUS), _STATUS)),
        parameters=(
            query("id", text(), "Id of one campaign. Needs `sending_domain`"),
            query("sending_domain", text(), "Sending domain of that campaign"),
        ),
        refusals=(404,),
    ),
    f"GET {_PATH}/options": Operation(results(either(array(_OPTIONS), _OPTIONS))),
    f"PUT {_PATH}/options": Operation(NO_CONTENT, body=of_model(OptionsBody)),
}
