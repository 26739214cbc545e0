"""Read reports of metrics: totals of a time, or a row for each campaign, domain and so on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from postfinch.http_api import Api
from postfinch.json_types import Json

_REPORTS = "/metrics/deliverability"
#: Between the values of a list: values may have commas
_DELIMITER = "\x1f"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_OVERVIEW = (
    *("count_targeted", "count_sent", "count_delivered", "count_bounce", "count_rejected"),
    *("count_delayed", "count_unique_rendered", "count_unique_clicked", "count_unsubscribe"),
    "count_spam_complaint",
)


class By(StrEnum):
    """What a report divides the mail by."""

    TIME = "time"
    DOMAIN = "domain"
    CAMPAIGN = "campaign"
    TEMPLATE = "template"
    SUBACCOUNT = "subaccount"
    SENDING_DOMAIN = "sending-domain"
    SENDING_IP = "sending-ip"
    IP_POOL = "ip-pool"
    MAILBOX_PROVIDER = "mailbox-provider"
    MAILBOX_PROVIDER_REGION = "mailbox-provider-region"
    WATCHED_DOMAIN = "watched-domain"
    SUBJECT_CAMPAIGN = "subject-campaign"
    BOUNCE_REASON = "bounce-reason"
    BOUNCE_CLASSIFICATION = "bounce-classification"
    DELAY_REASON = "delay-reason"
    REJECTION_REASON = "rejection-reason"
    LINK_NAME = "link-name"
    ATTEMPT = "attempt"


#: The metrics of reports that have no others, or of which not all make sense
_METRICS = {
    By.SUBJECT_CAMPAIGN: ("count_inbox_seed", "count_spam_seed"),
    By.BOUNCE_REASON: ("count_bounce",),
    By.BOUNCE_CLASSIFICATION: ("count_bounce",),
    By.DELAY_REASON: ("count_delayed", "count_delayed_first"),
    By.REJECTION_REASON: ("count_rejected",),
    By.LINK_NAME: ("count_clicked", "count_raw_clicked"),
    By.ATTEMPT: ("count_delivered",),
}


def default_metrics(by: By | None) -> tuple[str, ...]:
    """Return the metrics that a report shows if none are chosen."""
    return _METRICS.get(by, _OVERVIEW) if by else _OVERVIEW


def start_of(last: str) -> str:
    """Return the beginning, in UTC, of a time until now such as 12h or 7d; raises ValueError."""
    match = re.fullmatch(r"([0-9]{1,5})([mhdw])", last)
    if not match:
        raise ValueError(f"must be like 12h or 7d, which {last!r} is not")
    age = timedelta(**{_UNITS[match[2]]: int(match[1])})
    return (datetime.now(UTC) - age).isoformat(timespec="minutes")[:16]


def read(
    api: Api,
    by: By | None,
    *,
    start: str,
    end: str | None = None,
    timezone: str = "UTC",
    precision: str | None = None,
    metrics: Sequence[str] = (),
    filters: Mapping[str, Sequence[object] | None] = {},
    order_by: str | None = None,
    limit: int = 20,
) -> list[Json]:
    """Return the rows of a report; ``filters`` are the lists of the API, such as ``campaigns``."""
    lists = {**filters, "metrics": metrics or default_metrics(by)}
    query: Json = {
        "from": start,
        "to": end,
        "timezone": timezone,
        "precision": precision,
        "order_by": order_by,
        "delimiter": _DELIMITER,
    }
    for name, values in lists.items():
        query[name] = _DELIMITER.join(map(str, values)) if values else None
    if by and by is not By.TIME:
        query["limit"] = limit
    path = {None: _REPORTS, By.TIME: f"{_REPORTS}/time-series"}.get(by, f"{_REPORTS}/{by}")
    rows: list[Json] = api.get(path, **query)
    return rows
