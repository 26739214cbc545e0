"""Say what the kinds of batches differ in: batches of events, and received messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import ClassVar, Final

from chalicelib.core.dynamo import AnyItem, Key
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event
from chalicelib.core.queues import Received, Work
from chalicelib.core.spool import Body
from chalicelib.webhook_dispatch.batch import BatchHead
from chalicelib.webhook_dispatch.schedule import Schedule
from chalicelib.webhooks.model import Endpoint
from chalicelib.webhooks.posting import PostResult

#: The failure code of a batch that was given up because of :class:`BodyGone`
GONE: Final = "EGONE"


class BodyGone(LookupError):
    """What a batch is made of is no longer stored, so it can never be posted again."""


class BatchKind(ABC):
    """What the poster, the records and redeliveries ask about a batch."""

    #: Whether the record of a batch holds its bytes, or they can be made again
    stores_body: ClassVar[bool]
    #: Whether an outcome makes an event. It is then recorded together with others
    has_events: ClassVar[bool]

    @abstractmethod
    def schedule(self) -> Schedule:
        """Return when a batch is posted again."""

    @abstractmethod
    def retention(self) -> int:
        """Return for how many seconds the record of a batch is kept."""

    @abstractmethod
    def endpoint_key(self, account_id: int, endpoint_id: str) -> Key:
        """Return the key in ``config`` of what is posted to."""

    @abstractmethod
    def endpoint(self, item: AnyItem) -> Endpoint:
        """Return what is posted to from its item; it may be deleted."""

    @abstractmethod
    def body(self, message: Received[Json], head: BatchHead) -> AbstractContextManager[Body]:
        """Return what is posted, for the block; raises :class:`BodyGone`."""

    @abstractmethod
    def events(self, head: BatchHead, result: PostResult, *, is_over: bool) -> Sequence[Event]:
        """Return the events of an attempt; ``is_over`` says that there is no further attempt.

        Making them again makes the same, but for their times.
        """

    @abstractmethod
    def work_again(self, head: BatchHead, body: bytes | None) -> Work[Json]:
        """Return the queue message of a redelivery; ``body`` is what the record holds.

        Raises :class:`BodyGone`.
        """
