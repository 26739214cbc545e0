"""Count and store checked recipients in chunks, whether they come from a request or a list.

All code that counts, stores or cuts recipients into chunks uses :class:`Recipients`, whatever their
source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from chalicelib.core.json_types import Json
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.store import lists
from chalicelib.recipient_lists.stored_form import encode
from chalicelib.transmissions.store import transmissions


class Recipients(Protocol):
    """The recipients of one transmission, each encoded in its stored form.

    They can be read several times, and each time in the same order.
    """

    @property
    def count(self) -> int:
        """The number of recipients."""
        ...

    @property
    def list_ref(self) -> Json:
        """The ``id``, ``identity`` and ``version`` of the stored list, or nothing."""
        ...

    def __iter__(self) -> Iterator[bytes]: ...

    def keep(self, transmission_id: str) -> None:
        """Store the recipients for a transmission that starts later."""
        ...


@dataclass(frozen=True, slots=True)
class RequestRecipients:
    """Recipients that came with the request."""

    recipients: Sequence[bytes]

    @property
    def count(self) -> int:
        """Return the number of recipients."""
        return len(self.recipients)

    @property
    def list_ref(self) -> Json:
        """Return nothing: no stored list is involved."""
        return {}

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.recipients)

    def keep(self, transmission_id: str) -> None:
        """Store the recipients under the transmission's id."""
        transmissions.put_recipients(transmission_id, self.recipients)


@dataclass(frozen=True, slots=True)
class ListRecipients:
    """The recipients of a stored list, on which the transmission has a lease.

    A list that was deleted since the transmission was accepted is kept until it has started.
    """

    list: RecipientList
    is_deleted: bool = False

    @property
    def count(self) -> int:
        """Return the number of recipients."""
        return self.list.count

    @property
    def list_ref(self) -> Json:
        """Return which list it is, and the version that these recipients are."""
        return {"id": self.list.id, "identity": self.list.identity, "version": self.list.version}

    def __iter__(self) -> Iterator[bytes]:
        # The options of recipients in a list do not count (spec 2.1)
        for recipient in chain.from_iterable(lists.parts(self.list)):
            recipient.pop("options", None)
            yield encode(recipient)

    def keep(self, transmission_id: str) -> None:
        """Do nothing: the list is stored."""
