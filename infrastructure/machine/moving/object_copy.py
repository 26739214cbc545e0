"""Copy the objects of the bucket, which hold what is too large for an item."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from botocore.exceptions import ClientError

from infrastructure.machine.moving.checkpoint import GONE, Copy
from infrastructure.machine.moving.kinds import QUEUE_OBJECTS
from infrastructure.machine.moving.place import CONNECTIONS, Place
from infrastructure.machine.moving.sides import Sides, Tally

#: The name of the objects in the checkpoint, beside those of the tables
OBJECTS = "objects"
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class _Entry:
    """An object of the source: its key and its tag."""

    key: str
    tag: str


class ObjectCopy:
    """Copy objects from the source to the target."""

    def __init__(self, sides: Sides) -> None:
        self._sides = sides

    def run(self, tally: Tally, progress: Callable[[], None]) -> None:
        """Copy what is new or has changed, and delete what the source has deleted.

        Keys are in order, so an interrupted pass begins behind the last key of its last page.
        """
        checkpoint, note = self._sides.checkpoint, f"cursor {OBJECTS}"
        text = checkpoint.note(note)
        if text == "end":
            return
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            start = text
            while True:
                entries, is_last = _page(self._sides.source, start)
                own = [each for each in entries if not each.key.startswith(QUEUE_OBJECTS)]
                self._copy(own, tally, pool)
                progress()
                if is_last:
                    break
                start = entries[-1].key
                checkpoint.set_note(note, start)
        self._delete(tally)
        checkpoint.set_note(note, "end")

    def _copy(self, entries: list[_Entry], tally: Tally, pool: ThreadPoolExecutor) -> None:
        checkpoint, number = self._sides.checkpoint, self._sides.number
        copies = checkpoint.copies(OBJECTS, [(each.key, "") for each in entries])
        unchanged = [key for key, copy in copies.items() if (key[0], copy.digest) in _tags(entries)]
        same = set(unchanged)
        changes = [each for each in entries if (each.key, "") not in same]
        tags = list(pool.map(lambda each: self._bring(each, copies.get((each.key, ""))), changes))
        pairs = zip(changes, tags, strict=True)
        results = {(each.key, ""): Copy(each.tag.encode(), None, tag) for each, tag in pairs if tag}
        with checkpoint.transaction():
            checkpoint.meet(OBJECTS, unchanged, number)
            checkpoint.store(OBJECTS, results, number)
        tally.entries += len(entries)
        tally.copies += sum(1 for copy in results.values() if copy.at_target != GONE)

    def _bring(self, entry: _Entry, copy: Copy | None) -> str:
        """Put an object; return its tag at the target, empty if the source has it no more.

        What the target has replaced or deleted since the last copy stays so.
        """
        source, target = self._sides.source, self._sides.target
        if copy is not None and (tag := _tag_of(target, entry.key)) != copy.at_target:
            return tag or GONE
        try:
            body = source.s3.get_object(Bucket=source.bucket, Key=entry.key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in ("NoSuchKey", "404"):
                return ""
            raise
        answer = target.s3.put_object(Bucket=target.bucket, Key=entry.key, Body=body)
        return str(answer["ETag"])

    def _delete(self, tally: Tally) -> None:
        checkpoint, target = self._sides.checkpoint, self._sides.target
        while copies := checkpoint.not_met(OBJECTS, self._sides.number, _BATCH):
            for (key, _), copy in copies.items():
                if copy.at_target != GONE and _tag_of(target, key) == copy.at_target:
                    target.s3.delete_object(Bucket=target.bucket, Key=key)
                    tally.deletions += 1
            with checkpoint.transaction():
                checkpoint.forget(OBJECTS, copies)


def keys_of(place: Place) -> list[str]:
    """Return the keys of all objects but those of queue messages."""
    keys: list[str] = []
    start = ""
    while True:
        entries, is_last = _page(place, start)
        keys += [each.key for each in entries if not each.key.startswith(QUEUE_OBJECTS)]
        if is_last:
            return keys
        start = entries[-1].key


def _page(place: Place, start: str) -> tuple[list[_Entry], bool]:
    """Return a page of the bucket's objects behind a key, and whether it is the last one."""
    answer = place.s3.list_objects_v2(
        Bucket=place.bucket, **({"StartAfter": start} if start else {})
    )
    contents = answer.get("Contents", [])
    entries = [_Entry(each["Key"], each["ETag"]) for each in contents]
    return entries, not answer.get("IsTruncated") or not entries


def _tag_of(place: Place, key: str) -> str:
    """Return the tag of an object, empty if there is none."""
    try:
        return str(place.s3.head_object(Bucket=place.bucket, Key=key)["ETag"])
    except ClientError as error:
        if error.response["Error"]["Code"] in ("NoSuchKey", "NotFound", "404"):
            return ""
        raise


def _tags(entries: list[_Entry]) -> set[tuple[str, bytes]]:
    return {(each.key, each.tag.encode()) for each in entries}
