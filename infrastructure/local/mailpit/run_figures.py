"""Note where the mailbox stands when the service starts, for figures that count from then on.

The mailbox's ids begin with the time of arrival, so what port 1025 took before the gateway ran is
counted, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the supervisor imports this module, and needs no mailbox
    from infrastructure.local.mailbox.mailbox import SinkMailbox

#: The variable in which the supervisor says when it started, in seconds since 1970
STARTED_AT = "STARTED_AT"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The figures of one run of the service; ``start`` is in seconds since 1970."""

    mailbox: SinkMailbox
    start: float
    #: The greatest uid from before the start
    first_uid: int
    #: The number of messages that were deleted before
    deleted_before: int

    @classmethod
    def begin(cls, mailbox: SinkMailbox, environ: Mapping[str, str]) -> RunFigures:
        """Return the figures of the run with this environment."""
        start = float(environ.get(STARTED_AT) or time.time())
        arrivals = mailbox.index.arrivals()
        return cls(mailbox, start, mailbox.uid_before(start), arrivals.deleted)

    def shown(self) -> dict[str, int]:
        """Return them by Mailpit's names."""
        arrivals = self.mailbox.index.arrivals()
        return {
            "Uptime": max(int(time.time() - self.start), 0),
            "MessagesDeleted": max(arrivals.deleted - self.deleted_before, 0),
            "SMTPAccepted": arrivals.last_uid - self.first_uid,
            "SMTPAcceptedSize": self.mailbox.index.size(self.first_uid),
        }
