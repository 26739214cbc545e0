"""Read what `FORWARD_MATCHING` says: which messages are forwarded, and for which recipients."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from infrastructure.local.mailbox.mailbox_query import conditions_of, simple_conditions
from infrastructure.local.mailbox.rows import Condition
from infrastructure.local.releasing.recipients import AllowedRecipients, is_expression

#: One word with an @ or a star is a recipient, and so is a regular expression
_RECIPIENT = re.compile(r"[^\s:\"]*[@*][^\s:\"]*")


@dataclass(frozen=True, slots=True)
class Matching:
    """The conditions of a message, and the recipients that count, ``None`` for all."""

    conditions: tuple[Condition, ...]
    pattern: AllowedRecipients | None = None

    @classmethod
    def read(cls, text: str) -> Matching:
        """Read a search, a recipient with ``*`` or ``/regex/``; raises ValueError."""
        text = text.strip()
        if is_expression(text):
            return cls((), AllowedRecipients.read(text))
        if _RECIPIENT.fullmatch(text):
            return cls(tuple(simple_conditions(text, None, None)), AllowedRecipients.read(text))
        return cls(tuple(conditions_of(text)))

    @property
    def needs_details(self) -> bool:
        """Tell whether a message can match only once its details are known."""
        return any(each.needs_details for each in self.conditions)

    def recipients_of(self, recipients: Sequence[str]) -> list[str]:
        """Return those of a message's recipients that count."""
        pattern = self.pattern
        return [each for each in recipients if pattern is None or pattern.admits(each)]
