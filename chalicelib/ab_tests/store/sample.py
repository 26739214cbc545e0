"""Count down the sample of a version: how many more messages its templates are tried on.

Access patterns of ``config``:

- the remaining places of a sample → ``ab_test#<account>#<test id>`` / ``of#<number>#sample``

Access patterns of ``messages``:

- which template a message took → ``ab_test#<account>#<test id>#<number>#<message id>`` /
  ``template``

A message takes a sample place in one transaction: the sample counts down on the condition that a
place remains, and the message's own item records the template, on the condition that there is no
such item. So every place is taken once, by one message, however often the message is generated; a
crash leaves either both or nothing. The transaction that takes the last place also writes the time
into the version's record, so nobody has to watch for the end of the sample.

A message that is refused after all gives its place back, in one transaction as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from chalicelib.ab_tests.model import SAMPLE_SIZE, SCHEDULED, AbTest, Share
from chalicelib.ab_tests.store import versions
from chalicelib.core import clock, due, dynamo
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.core.settings import settings


class AbTestSampleItem(Keyed):
    """The places of a version's sample; ``taken_<n>`` counts those of its n-th template."""

    #: Places that remain
    left: int
    #: All places
    whole: int
    expires: int


class SampledMessageItem(Keyed):
    """A message that took a place, and its template."""

    template_id: str
    expires: int


_config: Table[AbTestSampleItem] = Table("config")
_messages: Table[SampledMessageItem] = Table("messages")


def begin(test: AbTest, *, again: bool = False) -> list[Write]:
    """Return the actions for the transaction that schedules a version.

    A version is scheduled ``again``, with changes, only while no message has taken a place.
    """
    if test.sample is None:
        return []
    pk, sk = _key(test)
    places = {f"taken_{i}": 0 for i in range(len(test.shares))}
    expires = test.completes_ms // 1000 + settings().messages_retention
    item: AbTestSampleItem = {
        "pk": pk,
        "sk": sk,
        "left": test.sample,
        "whole": test.sample,
        "expires": expires,
    }
    condition = "attribute_not_exists(#whole) OR #left = #whole" if again else ""
    return [dynamo.put(_config, cast(AbTestSampleItem, item | places), condition=condition)]


def take(test: AbTest, message_id: str, preferred: Sequence[Share]) -> Share | None:
    """Take a sample place and return its template; return ``None`` if the sample is used up.

    The template is the first of those ``preferred`` that has places; a message that took one before
    gets the same again.
    """
    candidates, last = list(preferred), False

    def attempt() -> Share | None:
        nonlocal candidates, last
        try:
            _take(test, message_id, candidates[0], last=last)
        except TransactionFailed:
            if (mark := _messages.get(*_message_key(test, message_id))) is not None:
                template_id = mark["template_id"]
                return next(share for share in test.shares if share.template_id == template_id)
            item = _config.get(*_key(test))
            if item is None or item["left"] < 1 or (last and not _goes_on(test)):
                return None
            candidates = [share for share in preferred if _has_room(test, share, item)]
            last = item["left"] == 1
            raise
        return candidates[0]

    return dynamo.retry_conflicts(attempt)


def give_back(test: AbTest, message_id: str) -> None:
    """Undo :func:`take` for a message that is not sent; one that took no place changes nothing.

    A sample that the message had used up goes on, unless the version has ended meanwhile.
    """
    if test.sample is None:
        return

    def attempt() -> None:
        mark = _messages.get(*_message_key(test, message_id))
        item = _config.get(*_key(test))
        if mark is None or item is None:
            return
        used_up = item["left"] < 1
        if not used_up or _goes_on(test):
            _give_back(test, message_id, mark["template_id"], used_up=used_up)

    dynamo.retry_conflicts(attempt)


def _take(test: AbTest, message_id: str, share: Share, *, last: bool) -> None:
    """Take a place; only a caller that knows it is the ``last`` one takes the last one."""
    pk, sk = _message_key(test, message_id)
    expires = int(clock.now()) + settings().messages_retention
    mark: SampledMessageItem = {
        "pk": pk,
        "sk": sk,
        "template_id": share.template_id,
        "expires": expires,
    }
    writes = [
        _countdown(test, share, last=last),
        dynamo.put(_messages, mark, condition="attribute_not_exists(#pk)"),
    ]
    if last:
        writes += _note_end(test)
    dynamo.transact(writes)


def _countdown(test: AbTest, share: Share, *, last: bool) -> Write:
    place = f"taken_{test.shares.index(share)}"
    values = {"one": 1, "minus": -1}
    condition = "#left = :one" if last else "#left > :one"
    if test.audience_selection == SAMPLE_SIZE:
        condition += f" AND #{place} < :most"
        values["most"] = share.sample_size or 0
    change = f"ADD #left :minus, #{place} :one"
    return dynamo.update(_config, *_key(test), change, values=values, condition=condition)


def _give_back(test: AbTest, message_id: str, template_id: str, *, used_up: bool) -> None:
    ids = [share.template_id for share in test.shares]
    condition = "#left < :one" if used_up else "#left >= :one"
    change = f"ADD #left :one, #taken_{ids.index(template_id)} :minus"
    values = {"one": 1, "minus": -1}
    pk, sk = _message_key(test, message_id)
    dynamo.transact(
        [
            dynamo.update(_config, *_key(test), change, values=values, condition=condition),
            dynamo.delete(_messages, pk, sk, condition="attribute_exists(#pk)"),
            *(_note_sampled(test, None) if used_up else []),
        ]
    )


def _note_end(test: AbTest) -> list[Write]:
    return _note_sampled(test, clock.now_ms())


def _note_sampled(test: AbTest, sampled_ms: int | None) -> list[Write]:
    """Return the actions that write when the sample was used up, or ``None`` if it is not."""
    ended = replace(test, sampled_ms=sampled_ms)
    ended = replace(ended, due_ms=ended.next_check_ms(clock.now_ms()))
    mark = dynamo.update(
        versions.table,
        *versions.key(test),
        "SET #sampled_ms = :sampled, #due_ms = :due, #stamp = :stamp",
        values={
            "sampled": sampled_ms,
            "due": ended.due_ms,
            "stamp": dynamo.draw_revision(),
            "scheduled": SCHEDULED,
        },
        condition="#state = :scheduled",
    )
    return [mark, due.addition(versions.due_entry(ended))]


def _goes_on(test: AbTest) -> bool:
    """Tell whether the version was neither cancelled nor completed nor deleted meanwhile."""
    standing = versions.version(test.account_id, test.id, test.version)
    return standing is not None and standing.state == SCHEDULED


def _has_room(test: AbTest, share: Share, item: Mapping[str, Any]) -> bool:
    if test.audience_selection != SAMPLE_SIZE:
        return True
    return bool(item[f"taken_{test.shares.index(share)}"] < (share.sample_size or 0))


def _key(test: AbTest) -> tuple[str, str]:
    return versions.partition(test.account_id, test.id), versions.part_key(test.version, "sample")


def _message_key(test: AbTest, message_id: str) -> tuple[str, str]:
    return f"ab_test#{test.account_id}#{test.id}#{test.version}#{message_id}", "template"
