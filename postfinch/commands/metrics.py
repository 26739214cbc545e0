"""``postfinch metrics``: how many messages were sent, delivered, opened and so on."""

from __future__ import annotations

from typing import Annotated

import typer

from postfinch import metrics_reports
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, write_json, write_rows
from postfinch.json_types import Json
from postfinch.metrics_reports import By


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
    chosen_metrics = tuple(map(_full_name, names.split(","))) if names else ()
    first, final = _window(last, start, end, timezone)
    rows = metrics_reports.read(
        connect(profile),
        by,
        start=first,
        end=final,
        timezone=timezone,
        precision=precision,
        metrics=chosen_metrics,
        filters={
            "campaigns": campaign,
            "templates": template,
            "domains": domain,
            "subaccounts": subaccount,
        },
        order_by=_full_name(order_by) if order_by else None,
        limit=limit,
    )
    columns = chosen_metrics or metrics_reports.default_metrics(by)
    if by is None:
        _write_totals(rows[0], as_json=as_json)
    else:
        empty = "There was no such mail in this time."
        write_rows(rows, _headings(rows, columns), as_json=as_json, empty=empty)


def _full_name(name: str) -> str:
    name = name.strip()
    return name if name.startswith(("count_", "total_")) else f"count_{name}"


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
    try:
        return metrics_reports.start_of(last or "1d"), None
    except ValueError as error:
        fail(f"--last {error}", 2)


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
