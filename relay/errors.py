"""Exceptions that end an SMTP command, each with its reply.

Any other exception becomes 451 4.3.0 with an id that the log explains.
"""

from __future__ import annotations

from relay import replies
from relay.replies import Reply


class SmtpRefusal(Exception):
    """Ends a command with a reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.code} {reply.enhanced} {reply.text}")
        self.reply = reply


class PermanentRefusal(SmtpRefusal):
    """A sender or a message is refused for good: `Refused(550, "5.7.1", "why")`."""

    def __init__(self, code: int, enhanced: str, text: str) -> None:
        super().__init__(Reply(code, enhanced, text))


class LoginRefused(SmtpRefusal):
    """A login is refused: 535 5.7.8 unless the caller names another reply."""

    def __init__(self, reply: Reply = replies.LOGIN_FAILED) -> None:
        super().__init__(reply)


class RelayUnavailable(SmtpRefusal):
    """A store cannot be reached now: the client tries again later (451 4.3.0)."""

    def __init__(self, text: str = "Temporary failure, try again later") -> None:
        super().__init__(Reply(451, "4.3.0", text))
