"""``postfinch metrics``: how many messages were sent, delivered, opened and so on."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, write_json, write_rows

Json = dict[str, Any]

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


def metrics(
    by: Annotated[By | None, typer.Option(help="Divide the mail by this.")] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--metrics", "-m", help="Comma-separated, such as sent,delivered,unique_clicked."
        ),
    ] = None,
    last: Annotated[
        str | None,
        typer.Option(help="The time until now: 30m, 12h, 7d, 4w.", show_default="1d"),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="The beginning, such as 2026-01-31T09:00.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="The end; now if there is none.")] = None,
    timezone: Annotated[str, typer.Option(help="The time zone of all times.")] = "UTC",
    precision: Annotated[
        str | None, typer.Option(help="For --by time: 1min, 5min, 15min, hour, day, week, month.")
    ] = None,
    campaign: Annotated[
        list[str] | None, typer.Option(help="Only mail of this campaign; repeat it for more.")
    ] = None,
    template: Annotated[
        list[str] | None, typer.Option(help="Only mail of this template; repeat it for more.")
    ] = None,
    domain: Annotated[
        list[str] | None, typer.Option(help="Only mail to this domain; repeat it for more.")
    ] = None,
    subaccount: Annotated[
        list[int] | None, typer.Option(help="Only mail of this subaccount; 0 is the account.")
    ] = None,
    order_by: Annotated[
        str | None, typer.Option(help="The metric by which rows are ordered, greatest first.")
    ] = None,
    limit: Annotated[int, typer.Option(help="The most rows.", min=1)] = 20,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the totals of a time, or a row for each campaign, domain and so on."""
    columns = tuple(map(_full_name, names.split(","))) if names else _default_metrics(by)
    first, final = _window(last, start, end, timezone)
    lists: dict[str, Any] = {
        "metrics": columns,
        "campaigns": campaign,
        "templates": template,
        "domains": domain,
        "subaccounts": subaccount,
    }
    query: Json = {
        "from": first,
        "to": final,
        "timezone": timezone,
        "precision": precision,
        "order_by": _full_name(order_by) if order_by else None,
        "delimiter": _DELIMITER,
    }
    for name, values in lists.items():
        query[name] = _DELIMITER.join(map(str, values)) if values else None
    if by and by is not By.TIME:
        query["limit"] = limit
    path = {None: _REPORTS, By.TIME: f"{_REPORTS}/time-series"}.get(by, f"{_REPORTS}/{by}")
    rows: list[Json] = connect(profile).get(path, **query)
    if by is None:
        _write_totals(rows[0], as_json=as_json)
    else:
        empty = "There was no such mail in this time."
        write_rows(rows, _headings(rows, columns), as_json=as_json, empty=empty)


def _full_name(name: str) -> str:
    name = name.strip()
    return name if name.startswith(("count_", "total_")) else f"count_{name}"


def _default_metrics(by: By | None) -> tuple[str, ...]:
    return _METRICS.get(by, _OVERVIEW) if by else _OVERVIEW


def _window(
    last: str | None, start: str | None, end: str | None, timezone: str
) -> tuple[str, str | None]:
    """Return the bounds; a time until now is in UTC, as this machine may not know the time zone."""
    if start is not None:
        if last is not None:
            fail("--last and --from exclude each other", 2)
        return start, end
    if end is not None:
        fail("--to needs --from", 2)
    if timezone != "UTC":
        fail("--timezone needs --from", 2)
    match = re.fullmatch(r"(\d{1,5})([mhdw])", last or "1d")
    if not match:
        fail(f"--last must be like 12h or 7d, which {last!r} is not", 2)
    age = timedelta(**{_UNITS[match[2]]: int(match[1])})
    return (datetime.now(UTC) - age).isoformat(timespec="minutes")[:16], None


def _write_totals(row: Json, *, as_json: bool) -> None:
    if as_json:
        write_json(row)
        return
    totals = [{"metric": _short_name(name), "count": value} for name, value in row.items()]
    headings = {"metric": "Metric", "count": "Count"}
    write_rows(totals, headings, as_json=False, empty="")


def _headings(rows: list[Json], columns: tuple[str, ...]) -> dict[str, str]:
    """Return the columns of a report: what it divides by, then the metrics."""
    keys = dict.fromkeys(key for row in rows for key in row)
    values = [key for key in keys if key not in columns]
    headings = {key: key.replace("_", " ").capitalize() for key in values}
    return headings | {key: _short_name(key) for key in columns if key in keys}


def _short_name(name: str) -> str:
    return name.removeprefix("count_").replace("_", " ").capitalize()
