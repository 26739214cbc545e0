"""Describe what the API tells of the rules that large mail hosts have for senders."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.openapi.operation import Operation, Operations, results
from chalicelib.openapi.schema import Maybe, array, one_of, record, text
from chalicelib.sender_requirements.model import STATES
from chalicelib.sender_requirements.rules import ADDRESS_RULES, DOMAIN_RULES

_REMEDY: Final = record(
    text=text(about="What to do"),
    record=Maybe(
        record(type=text(), name=text(), value=text())
        | {
            "description": "The DNS record to publish",
            "example": {
                "type": "TXT",
                "name": "_dmarc.example.com",
                "value": "v=DMARC1; p=none; rua=mailto:dmarc@bounces.example.com",
            },
        }
    ),
)
_SOURCE: Final = record(host=text(), source=text(about="URL of the page that states the rule"))


def _requirements(ids: list[str]) -> Json:
    return array(
        record(
            id=one_of(ids),
            title=text(),
            state=one_of(STATES)
            | {
                "description": "`undecided`: the DNS gave no answer, or it cannot be seen from here"
            },
            found=text(about="What the DNS or the settings of the service show"),
            required_by=array(_SOURCE),
            remedy=Maybe(
                _REMEDY
                | {
                    "description": "For what is met it is a recommendation. Absent if there is "
                    "nothing to do"
                }
            ),
        )
    )


OPERATIONS: Final[Operations] = {
    "GET /api/v1/sending-domains/{domain}/requirements": Operation(
        results(
            record(
                domain=text(),
                return_path_domain=text(about="Domain of the envelope sender of its mail"),
                requirements=_requirements([rule.id for rule in DOMAIN_RULES]),
            )
        )
    ),
    "GET /api/v1/ip-pools/{pool_id}/requirements": Operation(
        results(
            array(
                record(
                    external_ip=text(),
                    hostname=text(about="Name in EHLO"),
                    requirements=_requirements([rule.id for rule in ADDRESS_RULES]),
                )
            )
        )
    ),
}
