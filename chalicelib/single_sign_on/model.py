"""Describe why a sign-in with a provider fails: in one word for the console, in words for the log.

The console gets the code only; it says nothing about users of the service.
"""

from __future__ import annotations

from typing import Final

#: The provider or the service says no
REFUSED: Final = "refused"
#: The address belongs to no user, and its domain may not join
NOT_INVITED: Final = "not_invited"
#: The provider does not say that the address was verified
UNVERIFIED: Final = "unverified"
#: The sign-in took too long, was begun in another browser, or is over already
EXPIRED: Final = "expired"
#: The provider cannot be reached, or what it says is not valid
FAILED: Final = "failed"


class SignInFailed(Exception):
    """A sign-in with a provider failed; ``user_id`` is whom it was for, if that is certain."""

    def __init__(self, code: str, reason: str, user_id: str = "") -> None:
        super().__init__(reason)
        self.code = code
        self.user_id = user_id
