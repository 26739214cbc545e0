"""Json to the target what must not be written twice, such as additions to counters.

A step is one transaction: its writes, and a mark of the step in the target's table ``config``. The
checkpoint has the step before it is sent. After a kill it is sent again, and the mark tells whether
it was made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from botocore.exceptions import ClientError

from chalicelib.core.json_types import Json
from infrastructure.machine.moving.checkpoint import Checkpoint, Copy, Key
from infrastructure.machine.moving.images import from_text, text_of
from infrastructure.machine.moving.kinds import NOTES
from infrastructure.machine.moving.place import Place

#: Most writes of a step beside its mark: a transaction takes 100 of at most 4 MB
MOST_WRITES: Final = 50
_ATTEMPTS = 12
_LONGEST_PAUSE = 2.0
#: Seconds after which the target may remove a mark
_MARK_SECONDS = 30 * 86_400
_BUSY = ("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded")


class StepRefused(Exception):
    """A condition of a step's own writes does not hold; nothing was written."""


class Steps:
    """The steps of one move; copies are noted in ``checkpoint`` for the pass ``number``."""

    def __init__(self, target: Place, checkpoint: Checkpoint, number: int) -> None:
        self._target = target
        self._checkpoint = checkpoint
        self._pass = number

    def finish(self) -> None:
        """Make the step that a killed process had begun, if there is one."""
        if step := self._checkpoint.step():
            number, text = step
            document = json.loads(text)
            writes = [_write_from(each) for each in document["writes"]]
            copies = {
                (pk, sk): Copy(bytes.fromhex(digest), base)
                for pk, sk, digest, base in document["copies"]
            }
            try:
                self._send(number, writes, document["place"], copies, document["note"])
            except StepRefused:  # what it was to change has changed: it is decided anew
                self._checkpoint.end_step(number)

    def make(
        self, place: str, writes: Sequence[Json], copies: Mapping[Key, Copy], *, note: str = ""
    ) -> None:
        """Make writes once, and note what they copied of a table; raises :class:`StepRefused`.

        The checkpoint has a note of the name ``note`` then.
        """
        document = {
            "place": place,
            "note": note,
            "writes": [_write_text(each) for each in writes],
            "copies": [(*key, copy.digest.hex(), copy.base) for key, copy in copies.items()],
        }
        number = self._checkpoint.begin_step(json.dumps(document))
        try:
            self._send(number, writes, place, copies, note)
        except StepRefused:
            self._checkpoint.end_step(number)
            raise

    def _send(
        self,
        number: int,
        writes: Sequence[Json],
        place: str,
        copies: Mapping[Key, Copy],
        note: str,
    ) -> None:
        mark = f"step#{self._checkpoint.move_id}#{number}"
        _transact(self._target, mark, writes)
        with self._checkpoint.transaction():
            self._checkpoint.store(place, copies, self._pass)
            if note:
                self._checkpoint.set_note(note, "moved")
            self._checkpoint.end_step(number)


def _transact(target: Place, mark: str, writes: Sequence[Json]) -> None:
    """Send a transaction unless its mark is there; raises :class:`StepRefused`."""
    item = {
        "pk": {"S": NOTES},
        "sk": {"S": mark},
        "expires": {"N": str(int(time.time()) + _MARK_SECONDS)},
    }
    marking = {
        "Put": {
            "TableName": target.table("config"),
            "Item": item,
            "ConditionExpression": "attribute_not_exists(pk)",
        }
    }
    pause = 0.05
    for attempt in range(_ATTEMPTS):
        try:
            target.dynamodb.transact_write_items(TransactItems=[marking, *writes])
            return
        except ClientError as error:
            codes = [each.get("Code", "") for each in _reasons(error)]
            if not codes:
                raise
            if codes[0] == "ConditionalCheckFailed":  # it was made before
                return
            if "ConditionalCheckFailed" in codes:
                raise StepRefused from error
            if not set(codes) & set(_BUSY) or attempt == _ATTEMPTS - 1:
                raise
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, 2 * pause)


def _reasons(error: ClientError) -> list[dict[str, str]]:
    response: Any = error.response
    reasons: list[dict[str, str]] = response.get("CancellationReasons", [])
    return reasons


#: The parts of a write that are items in typed form
_ITEMS: Final = ("Item", "Key", "ExpressionAttributeValues")


def _write_text(write: Json) -> Json:
    return _with_items(write, text_of)


def _write_from(write: Json) -> Json:
    return _with_items(write, from_text)


def _with_items(write: Json, change: Callable[[Any], Any]) -> Json:
    ((action, arguments),) = write.items()
    return {
        action: {
            name: change(value) if name in _ITEMS else value for name, value in arguments.items()
        }
    }
