"""``postfinch import``: take an account of the same API."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from postfinch.commands.import_export import add_commands
from postfinch.commands.options import JsonOption, ProfileOption, connect
from postfinch.commands.output import fail, note, write_json, write_line, write_rows
from postfinch.http_api import Api
from postfinch.importing.account_import import take_all
from postfinch.importing.accounts import Accounts
from postfinch.importing.kinds import KINDS
from postfinch.importing.model import Outcome, Result, State

app = typer.Typer(help="Take what another account or service has.")
add_commands(app)

_OUTCOMES: dict[Outcome, str] = {
    "taken": "Taken",
    "partly": "Taken, but",
    "exists": "There already",
    "failed": "Not taken",
    "would": "Would be taken",
}
# To the beginning of the line, which becomes empty
_START = "\r\x1b[K" if sys.stderr.isatty() else ""
_NEVER = "API keys, IP pools, A/B tests, events and metrics are not taken."


@app.callback(invoke_without_command=True)
def import_account(
    context: typer.Context,
    from_url: Annotated[
        str | None, typer.Option(help="Address of the API to take from, without /api/v1.")
    ] = None,
    from_key: Annotated[
        str | None,
        typer.Option(help="A key of the account there.", envvar="POSTFINCH_FROM_KEY"),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help=f"Kinds with commas between: {', '.join(KINDS)}.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be taken, and change nothing.")
    ] = False,
    state: Annotated[
        Path, typer.Option(help="File with what is done, so that a second call goes on there.")
    ] = Path("postfinch-import.json"),
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take everything from an account of the same API into the account of the profile.

    What has the same id there already is left as it is. The file with the state is removed once
    everything is taken.
    """
    if context.invoked_subcommand:
        return
    if not from_url or not from_key:
        fail("--from-url and --from-key (or POSTFINCH_FROM_KEY) say what to take from", 2)
    names = only.split(",") if only else list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        fail(f"--only has {unknown[0]!r}, which is none of {', '.join(KINDS)}", 2)
    target = connect(profile)
    if target.subaccount is not None:
        fail("an account can be taken into a primary account only: use another profile", 2)
    source = Api(from_url.rstrip("/").removesuffix("/api/v1"), from_key)
    try:
        progress = State.open(state, source.url, target.url)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fail(str(error), 2)
    accounts = Accounts(source, target, progress)
    accounts.match()
    results: list[Result] = []
    try:
        for name in (each for each in KINDS if each in names):
            kind = KINDS[name](accounts, progress, _say)
            for index, count, result in take_all(kind, accounts, progress, dry_run=dry_run):
                results.append(result)
                _show_progress(name, index, count)
    finally:
        if not dry_run:
            progress.save(at_once=True)
    _report(results, as_json=as_json)
    if any(result.outcome == "failed" for result in results):
        raise typer.Exit(1)
    if not dry_run:
        state.unlink(missing_ok=True)


def _show_progress(name: str, index: int, count: int) -> None:
    """Say how far a kind is: in place on a terminal, else once it is done."""
    if index == count:
        note(f"{_START}{name}: {count}")
    else:
        _say(f"{name}: {index} of {count}")


def _say(text: str) -> None:
    """Show a text on a terminal until the next one takes its place."""
    if sys.stderr.isatty():
        typer.echo(f"{_START}{text}", err=True, nl=False)


def _report(results: Sequence[Result], *, as_json: bool) -> None:
    if as_json:
        totals = Counter(result.outcome for result in results)
        write_json({"counts": totals, "results": [asdict(result) for result in results]})
        return
    kinds = dict.fromkeys(result.kind for result in results)
    outcomes = [name for name in _OUTCOMES if any(each.outcome == name for each in results)]
    counts = Counter((result.kind, result.outcome) for result in results)
    if not sys.stdout.isatty():
        for (kind, outcome), count in counts.items():
            typer.echo(f"{kind}\t{outcome}\t{count}")
    else:
        rows = [{"kind": kind, **{name: counts[kind, name] for name in outcomes}} for kind in kinds]
        columns: dict[str, str] = {"kind": ""}
        columns |= {name: _OUTCOMES[name] for name in outcomes}
        write_rows(rows, columns, as_json=False, empty="There is nothing to take.")
    for result in results:
        if result.reason:
            owner = f" of subaccount {result.subaccount}" if result.subaccount else ""
            style = "red" if result.outcome == "failed" else ""
            verb = "not taken: " if result.outcome == "failed" else ""
            write_line(f"{result.kind} {result.id}{owner}: {verb}{result.reason}", style=style)
    note(_NEVER)
