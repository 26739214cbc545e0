"""Work out the details of messages, when somebody wants to see or search them.

Parsing a message takes about a millisecond, and its campaign, tags and subaccount are in the
service's tables. So the sink leaves both alone; what is worked out here is stored in the index.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from chalicelib.sending_domains import return_path
from chalicelib.tracking import tokens
from chalicelib.tracking.model import LIST_UNSUBSCRIBE
from chalicelib.tracking.store import message_context
from infrastructure.local.mailbox.full_disk import is_full
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.rows import Condition, Details
from infrastructure.local.messages.message_details import details_of
from infrastructure.local.messages.parts import StoredMessage
from infrastructure.local.sink.mail_client import one_click_url

BATCH = 100


class Reference(NamedTuple):
    """The service's id of a message; ``first_index`` begins its work unit, if that is known."""

    message_id: str
    first_index: int | None = None


#: Returns event fields of messages, by message id; unknown messages are left out
Contexts = Callable[[Sequence[Reference]], Mapping[str, Mapping[str, Any]]]


def contexts_of(references: Sequence[Reference]) -> dict[str, Mapping[str, Any]]:
    """Read the message contexts from the service's tables."""
    of_units = [
        (ref.message_id, first) for ref in references if (first := ref.first_index) is not None
    ]
    contexts = message_context.of_messages(of_units)
    for reference in references:
        if reference.message_id not in contexts and (
            context := message_context.of_message(reference.message_id)
        ):
            contexts[reference.message_id] = context
    return {message_id: context.fields for message_id, context in contexts.items()}


class Detailer:
    """Adds details to the index of a mailbox. Any thread may call it."""

    def __init__(self, mailbox: SinkMailbox, contexts: Contexts = contexts_of) -> None:
        self.mailbox = mailbox
        self._contexts = contexts
        self._lock = threading.Lock()

    def details(self, message_ids: Sequence[str]) -> dict[str, Details]:
        """Return the details of messages by id; those of deleted messages are left out.

        What another thread works out meanwhile may be worked out twice, which harms nothing: so
        nobody who looks at a message waits for work on others.
        """
        known_details = self.mailbox.index.details(message_ids)
        missing_ids = [each for each in message_ids if each not in known_details]
        fresh = [
            details
            for start in range(0, len(missing_ids), BATCH)
            for details in self._shown(missing_ids[start : start + BATCH])
        ]
        return known_details | {each.id: each for each in fresh}

    def complete_for(
        self, conditions: Sequence[Condition], before: int | None, seconds: float
    ) -> int | None:
        """Add what a search needs and is missing, as ``complete`` does."""
        if any(each.needs_details for each in conditions):
            try:
                return self.complete(before, seconds)
            except sqlite3.OperationalError as error:
                # What has details is found all the same
                if not is_full(error):
                    raise
        return None

    def complete(self, before: int | None, seconds: float) -> int | None:
        """Add what is missing, the newest messages first, for about some seconds.

        Returns ``None`` if all messages older than the uid ``before`` have details, else the oldest
        uid from which on they do.
        """
        deadline = time.monotonic() + seconds
        bound = before
        while missing := self._add_missing(bound, BATCH):
            bound = missing[-1][0]
            if len(missing) < BATCH:
                break
            if time.monotonic() >= deadline:
                return bound
        return None

    def add_some(self, most: int) -> bool:
        """Add the details of the newest messages that lack them; False if none does."""
        return bool(self._add_missing(None, most))

    def _add_missing(self, before: int | None, most: int) -> list[tuple[int, str]]:
        # One thread at a time, so that searches which wait for the same details share the work
        with self._lock:
            missing = self.mailbox.index.undetailed(before, most)
            details = self._details([message_id for _, message_id in missing])
            self.mailbox.index.add_details(details)
            return missing

    def _shown(self, message_ids: Sequence[str]) -> list[Details]:
        """Return details to be shown, which are not stored where the disk is full."""
        details = self._details(message_ids)
        try:
            self.mailbox.index.add_details(details)
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise
        return details

    def _details(self, message_ids: Sequence[str]) -> list[Details]:
        messages: dict[str, StoredMessage] = {}
        for message_id in message_ids:
            source = self.mailbox.read(message_id)
            # Without its file a message is about to be deleted
            if source is not None:
                messages[message_id] = StoredMessage(source)
        references = {each: reference_of(message) for each, message in messages.items()}
        contexts = self._contexts([each for each in references.values() if each])
        service_ids = {each: ref.message_id if ref else "" for each, ref in references.items()}
        return [
            details_of(each, message, service_ids[each], contexts.get(service_ids[each]))
            for each, message in messages.items()
        ]


def reference_of(message: StoredMessage) -> Reference | None:
    """Return the service's id of a message, ``None`` if the service did not send it."""
    url = one_click_url(message.content)
    if url is not None:
        try:
            subject, _ = tokens.read(LIST_UNSUBSCRIBE, url.rpartition("/")[2])
        except ValueError:
            pass
        else:
            return Reference(subject.message_id, subject.first_index)
    for text in (message.sender.rpartition("@")[0], message.header(return_path.HEADER)):
        if message_id := return_path.message_of(text):
            return Reference(message_id)
    return None
