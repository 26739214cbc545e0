"""Decide whether a client of the catching port may go on: by login, by recipient, or by chance.

By default everybody may. With a file of passwords a login is needed, a list of recipients leaves
out all others, and chaos refuses some of what clients do (``releasing.chaos``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from infrastructure.local.passwords import Passwords
from infrastructure.local.releasing.chaos import AUTHENTICATION, RECIPIENT, SENDER
from infrastructure.local.releasing.recipients import AllowedRecipients
from relay import replies
from relay.errors import LoginRefused, SmtpRefusal
from relay.login import Login
from relay.replies import Reply
from relay.services import RunBlocking

_NO_MAILBOX = Reply(550, "5.1.0", "Mailbox unavailable (CATCH_RECIPIENTS)")

#: Returns the SMTP code by which to refuse at a stage of a session, None for no refusal
Fault = Callable[[str], int | None]


def no_fault(stage: str) -> None:
    """Refuse nothing."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Raises a refusal where a client may not go on."""

    passwords: Passwords | None = None
    fault: Fault = no_fault
    #: None for any
    recipients: AllowedRecipients | None = None

    async def check_login(self, run_blocking: RunBlocking, login: Login) -> None:
        """Refuse a wrong login; a hash takes too long for the event loop."""
        self._refuse_by_chance(AUTHENTICATION)
        passwords = self.passwords
        if passwords is None:
            return
        if not await run_blocking(passwords.is_right, login.username, login.password):
            raise LoginRefused

    def check_sender(self, identity: object) -> None:
        """Refuse mail without a login where there are passwords."""
        if self.passwords is not None and identity is None:
            raise SmtpRefusal(replies.LOGIN_NEEDED)
        self._refuse_by_chance(SENDER)

    def check_recipient(self, recipient: str) -> None:
        """Refuse a recipient that is not on the list, and others by chance."""
        self._refuse_by_chance(RECIPIENT)
        if self.recipients is not None and not self.recipients.admits(recipient):
            raise SmtpRefusal(_NO_MAILBOX)

    def _refuse_by_chance(self, stage: str) -> None:
        code = self.fault(stage)
        if code is not None:
            raise SmtpRefusal(Reply(code, f"{code // 100}.3.0", f"Chaos {stage.lower()} error"))
