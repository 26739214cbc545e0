"""Name the subject of a tracking URL: a message, and in it a link, a pixel or an unsubscription."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Kinds of tracking URLs, which are also the paths of their endpoints
OPEN: Final = "t/o"
INITIAL_OPEN: Final = "t/i"
AMP_OPEN: Final = "t/ao"
AMP_INITIAL_OPEN: Final = "t/ai"
CLICK: Final = "t/c"
LIST_UNSUBSCRIBE: Final = "t/u"


@dataclass(frozen=True, slots=True)
class Message:
    """The message that a URL belongs to.

    ``first_index`` is the index of the first recipient of the message's work unit; ``expires`` is
    the last day on which the URL works, in days since 1970.
    """

    account_id: int
    subaccount_id: int | None
    message_id: str
    first_index: int
    recipient: str
    expires: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a message; ``name`` is empty if the sender gave no name.

    ``sub`` is the path segment that the sender chose, for links that open an application.
    """

    target: str
    name: str = ""
    unsubscribes: bool = False
    amp: bool = False
    sub: str = ""

    @property
    def kind(self) -> str:
        """Return the kind of its URL."""
        return f"f/{self.sub}" if self.sub else CLICK


def sub_of(kind: str) -> str:
    """Return the ``sub`` of links of this kind."""
    return "" if kind == CLICK else kind.removeprefix("f/")
