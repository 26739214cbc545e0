"""Set up, use and remove a user's second factor.

A code is good once: the time step of an authenticator's code, or the removal of a recovery code, is
written under the condition that nobody else used it meanwhile.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.users import recovery_codes, totp
from chalicelib.users.model import User
from chalicelib.users.store import users


class _Refused(Exception):
    """The code is wrong, or it was used already."""


def use_code(user: User, code: str) -> bool:
    """Use a code of the user's authenticator or a recovery code; return ``False`` if it is wrong.

    A code that was used before is wrong. Of two simultaneous uses, one succeeds.
    """

    def use(present: User) -> User:
        step = totp.matching_step(present.totp, present.id, code, after=present.totp_step)
        if step is not None:
            return replace(present, totp_step=step)
        digest = recovery_codes.digest(present.id, code)
        if digest not in present.recovery:
            raise _Refused
        remaining = tuple(each for each in present.recovery if each != digest)
        return replace(present, recovery=remaining)

    try:
        return users.change(user.id, use, silent=True) is not None
    except _Refused:
        return False
