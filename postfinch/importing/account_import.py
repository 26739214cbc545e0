"""Take the things of one account to another, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from postfinch.http_api import ApiError
from postfinch.importing.accounts import Accounts
from postfinch.importing.kinds import Kind
from postfinch.importing.model import Result, State, Thing


def take_all(
    kind: Kind, accounts: Accounts, state: State, *, dry_run: bool
) -> Iterator[tuple[int, int, Result]]:
    """Yield the number, the count of all and the result of each thing of a kind.

    What the state says is done is not listed again. A kind that the source does not show is one
    failure.
    """
    try:
        things = list(kind.things())
        existing = kind.existing()
    except ApiError as error:
        yield 1, 1, Result(kind.name, "all", None, "failed", f"cannot be listed: {error}")
        return
    things = [each for each in things if _key(kind, each) not in state.done]
    for index, thing in enumerate(things, 1):
        result = Result(kind.name, thing.id, thing.subaccount, "failed")
        if not accounts.has(thing.subaccount):
            if not dry_run:
                reason = "its subaccount was not taken"
                yield index, len(things), replace(result, reason=reason)
                continue
        elif (accounts.number(thing.subaccount), thing.id) in existing:
            yield index, len(things), replace(result, outcome="exists")
            continue
        if dry_run:
            yield index, len(things), replace(result, outcome="would", reason=kind.note(thing))
            continue
        try:
            reason = kind.take(thing)
        except ApiError as error:
            yield index, len(things), replace(result, reason=str(error))
            continue
        state.done.add(_key(kind, thing))
        state.save()
        outcome = replace(result, outcome="partly" if reason else "taken", reason=reason)
        yield index, len(things), outcome


def _key(kind: Kind, thing: Thing) -> str:
    return f"{kind.name}:{thing.subaccount or 0}:{thing.id}"
