"""Make and check the codes of an authenticator (TOTP, RFC 6238): six digits, SHA-1, 30 seconds.

The secret is stored sealed, for its user only.
"""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import b32encode
from typing import Final

from chalicelib.core import clock, sealing

#: The length that RFC 4226 4 recommends
SECRET_BYTES: Final = 20
STEP_SECONDS: Final = 30
#: How many steps the clock of an authenticator may be off
MOST_STEPS_OFF: Final = 1

_CODE = re.compile(r"[0-9]{6}")


def draw_secret() -> bytes:
    """Draw a secret of 160 random bits."""
    return secrets.token_bytes(SECRET_BYTES)


def seal(secret: bytes, user_id: str) -> bytes:
    """Return a secret as it is stored with its user."""
    return sealing.seal(secret, context_of(user_id))


def base32(secret: bytes) -> str:
    """Return a secret as authenticators take it by hand."""
    return b32encode(secret).decode()


def uri(secret: bytes, *, issuer: str, label: str) -> str:
    """Return the ``otpauth`` URI of a secret that authenticators read from a QR code."""
    import pyotp

    return pyotp.TOTP(base32(secret)).provisioning_uri(name=label, issuer_name=issuer)


def matching_step(sealed: bytes, user_id: str, code: str, *, after: int = 0) -> int | None:
    """Return the time step that a code is of, or ``None`` for a wrong or an outdated code.

    Only steps later than ``after``, the last that a code was used of, count (RFC 6238 5.2).
    """
    code = code.replace(" ", "")
    if not sealed or not _CODE.fullmatch(code):
        return None
    import pyotp

    totp = pyotp.TOTP(base32(sealing.open_sealed(sealed, context_of(user_id))))
    present = int(clock.now()) // STEP_SECONDS
    step = None
    for each in range(present - MOST_STEPS_OFF, present + MOST_STEPS_OFF + 1):
        if hmac.compare_digest(totp.generate_otp(each), code) and each > after:
            step = each
    return step


def context_of(user_id: str) -> str:
    """Return what the sealed secret of a user is bound to."""
    return f"user#{user_id}"
