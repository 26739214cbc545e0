"""Fill a mailbox for searches, with details as they are given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.rows import Details
from infrastructure.local.mailbox.trace import Trace


def addresses(*pairs: tuple[str, str]) -> str:
    """Return names and addresses as details have them."""
    return json.dumps([{"Name": name, "Address": address} for name, address in pairs])


def details(row_id: str, **fields: object) -> Details:
    """Return details of a message without any, but for those that are given."""
    values = dict.fromkeys(Details._fields, "[]") | {"header_id": "", "message_id": "", "body": ""}
    numbers = dict.fromkeys(("attachments", "inlines", "subaccount_id", "unusual"), 0)
    values |= {"id": row_id} | numbers | fields
    return Details(**values)  # type: ignore[arg-type]


class SearchedBox:
    """A mailbox whose messages have details."""

    def __init__(self, root: Path) -> None:
        self.mailbox = SinkMailbox(root)

    def add(
        self,
        sender: str = "Shop <shop@a.test>",
        subject: str = "",
        recipients: Sequence[str] = ("ann@b.test",),
        *,
        inbox: str = "",
        given_tags: Sequence[str] = (),
        **fields: object,
    ) -> str:
        """Store a message with details; return its id."""
        message = f"From: {sender}\r\nSubject: {subject}\r\n\r\n".encode()
        trace = Trace("verp@x.test", tuple(recipients), inbox=inbox, tags=tuple(given_tags))
        message_id = self.mailbox.store(trace, message)
        self.mailbox.index.add_details([details(message_id, **fields)])
        return message_id

    def build(self) -> None:
        """Give all blocks of texts vocabularies, full or not."""
        for number in range((self.mailbox.index.newest() >> 11) + 1):
            for _ in self.mailbox.index.build_block(number):
                pass
