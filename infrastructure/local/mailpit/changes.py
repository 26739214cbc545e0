"""Change messages for Mailpit's API, and tell its listeners of it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from infrastructure.local.mailbox.full_disk import is_full
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.query_terms import of_tags
from infrastructure.local.mailbox.rows import Condition, Row
from infrastructure.local.mailbox.tags import clean_tag, unique_tags

#: Tells the listeners: a kind of news, and what it is about
Publish = Callable[[str, Any], None]

# Of more messages than these, no news are published one by one
_MOST_NEWS = 200


class TagProblem(ValueError):
    """A tag cannot be changed; the message says why."""


class Changes:
    """The changes; any thread may call them."""

    def __init__(self, mailbox: SinkMailbox, publish: Publish) -> None:
        self._mailbox = mailbox
        self._publish = publish
        self._lock = threading.Lock()
        #: The number of messages that were deleted
        self.deleted = 0

    def set_read(self, message_ids: Sequence[str], is_read: bool) -> None:
        """Flag messages as read or as unread."""
        differing_ids = [row.id for row in self._rows(message_ids) if bool(row.unread) == is_read]
        self._mailbox.set_unread(differing_ids, not is_read)
        if len(differing_ids) <= _MOST_NEWS:
            for message_id in differing_ids:
                self._publish("update", {"ID": message_id, "Read": is_read})

    def note_read(self, message_id: str) -> None:
        """Flag a message as read that is shown, if there is room on the disk to note it."""
        try:
            self.set_read([message_id], True)
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise

    def set_all_read(self, is_read: bool) -> None:
        """Flag all messages as read or as unread."""
        differing = Condition("unread" if is_read else "NOT unread")
        self._mailbox.set_unread(self._mailbox.index.ids([differing]), not is_read)

    def delete(self, message_ids: Sequence[str]) -> None:
        """Delete messages."""
        present_ids = [row.id for row in self._rows(message_ids)]
        number = self._mailbox.delete_all(present_ids)
        self._add_deleted(number)
        if number > _MOST_NEWS:
            self._publish("prune", None)
        else:
            for message_id in present_ids:
                self._publish("delete", {"ID": message_id})

    def delete_all(self) -> None:
        """Delete all messages."""
        self._add_deleted(self._mailbox.clear())
        self._publish("truncate", None)

    def set_tags(self, message_ids: Sequence[str], texts: Sequence[str]) -> None:
        """Let messages have these tags and no others, besides those of the service."""
        tags = unique_tags(texts)
        for row in self._rows(message_ids):
            self._mailbox.set_tags(row.id, tags)
            self._publish("update", {"ID": row.id, "Tags": tags})

    def rename_tag(self, tag: str, text: str) -> None:
        """Give a tag another name; raises TagProblem."""
        name = clean_tag(text)
        if not name:
            raise TagProblem(f"invalid tag name: {name}")
        present = self._present()
        if tag.casefold() not in present:
            raise TagProblem(f"tag not found: {tag}")
        if name == tag:
            return
        if name.casefold() in present - {tag.casefold()}:
            raise TagProblem(f"tag already exists: {name}")
        self._replace_tag(tag, [name])

    def delete_tag(self, tag: str) -> None:
        """Take a tag from all messages; raises TagProblem."""
        if tag.casefold() not in self._present():
            raise TagProblem(f"tag not found: {tag}")
        self._replace_tag(tag, [])

    def _present(self) -> set[str]:
        return {each.casefold() for each in self._mailbox.index.tag_names()}

    def _replace_tag(self, tag: str, names: list[str]) -> None:
        folded = tag.casefold()
        for message_id in self._mailbox.index.ids([of_tags(Condition("folded = ?", (folded,)))]):
            row = self._mailbox.index.row(message_id)
            if row is not None:
                tags = [each for each in json.loads(row.given_tags) if each.casefold() != folded]
                self._mailbox.set_tags(message_id, unique_tags([*tags, *names]))
        self._publish("prune", None)

    def _rows(self, message_ids: Sequence[str]) -> Iterator[Row]:
        for message_id in dict.fromkeys(message_ids):
            row = self._mailbox.index.row(message_id)
            if row is not None:
                yield row

    def _add_deleted(self, number: int) -> None:
        with self._lock:
            self.deleted += number
