"""Describe the figures of DMARC and TLS reports about a sending domain."""

from __future__ import annotations

from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.core.tls_results import FAILURES, POLICY_TYPES
from chalicelib.domain_reports.view import MOST_SOURCES
from chalicelib.openapi.operation import Operation, Operations, query, results
from chalicelib.openapi.schema import Maybe, array, integer, mapping, moment, one_of, record
from chalicelib.openapi.schema import text as string

_PERIOD: Final = (
    query("from", string(), "A day or a minute of UTC; a week before `to` if left out"),
    query("to", string(), "A day or a minute of UTC, up to which reports count; default: now"),
)
_COUNT: Final = integer(0)
_DMARC: Final[dict[str, Json | Maybe]] = {
    "messages": _COUNT,
    "passed": _COUNT | {"description": "Messages that DMARC passed"},
    "failed": _COUNT,
    "dkim_passed": _COUNT | {"description": "Messages whose signature confirmed the From domain"},
    "spf_passed": _COUNT | {"description": "Messages whose sender confirmed the From domain"},
    "quarantined": _COUNT,
    "rejected": _COUNT,
}
_TLS: Final[dict[str, Json | Maybe]] = {
    "sessions_succeeded": _COUNT,
    "sessions_failed": _COUNT,
}
_HEAD: Final[dict[str, Json | Maybe]] = {
    "domain": string(),
    "from": moment(),
    "to": moment(),
}
_REPORTER: Final[dict[str, Json | Maybe]] = {
    "reporter": string(about="The domain that signed the reports"),
    "organization": string(about="The name that its reports give"),
    "reports": _COUNT,
}

OPERATIONS: Final[Operations] = {
    "GET /api/v1/sending-domains/{domain}/dmarc-reports": Operation(
        results(
            record(
                **_HEAD,
                **_DMARC,
                policy=mapping(string())
                | {"description": "Tags of the DMARC record that was applied last"},
                sources=array(
                    record(
                        source_ip=string(about="Empty: many addresses with few messages"),
                        header_from=string(),
                        **_DMARC,
                        dkim_domains=array(string()),
                        spf_domains=array(string()),
                    ),
                    most=MOST_SOURCES,
                ),
                reporters=array(record(**_REPORTER, **_DMARC)),
            )
        ),
        _PERIOD,
    ),
    "GET /api/v1/sending-domains/{domain}/tls-reports": Operation(
        results(
            record(
                **_HEAD,
                **_TLS,
                policies=array(record(policy_type=one_of(POLICY_TYPES), **_TLS)),
                failures=array(
                    record(
                        result_type=one_of(FAILURES),
                        policy_type=one_of(POLICY_TYPES),
                        receiving_host=string(),
                        sessions=_COUNT,
                    ),
                    most=MOST_SOURCES,
                ),
                reporters=array(record(**_REPORTER, **_TLS)),
            )
        ),
        _PERIOD,
    ),
}
