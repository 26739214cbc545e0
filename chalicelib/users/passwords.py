"""Hash and check passwords, and say which ones a user may choose.

- A password has at least 12 characters and is none of the common ones: no rule asks for digits or
  signs (NIST SP 800-63B 3.1.1).
- It is stored as argon2id with the parameters that OWASP's Password Storage Cheat Sheet gives. With
  other parameters it is hashed anew at the next sign-in (:func:`is_outdated`).
- Where a user has no password, or an address no user, :func:`is_right` does the same work.
"""

from __future__ import annotations

import gzip
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from chalicelib.core.params import Params

if TYPE_CHECKING:
    from argon2 import PasswordHasher

#: In characters
SHORTEST: Final = 12
#: In bytes
LONGEST: Final = 1000

_MEMORY_KIB = 19 * 1024
_PASSES = 2
_LANES = 1
_COMMON = Path(__file__).with_name("common_passwords.txt.gz")
#: The hash of a password that nobody knows
_NOBODYS = (
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)


def read_new(
    params: Params, name: str, *, email: str, company_name: str, required: bool = True
) -> str | None:
    """Read a new password; a fault is noted in ``params``, without the password."""
    password = params.text(name, most=LONGEST, required=required)
    fault = _fault(password, email, company_name) if password is not None else ""
    if fault:
        params.refuse(name, fault, None)
    return password


def hash_of(password: str) -> str:
    """Return what is stored of a password."""
    return _hasher().hash(_normal(password))


def is_right(password: str, stored_hash: str) -> bool:
    """Tell whether a password is the one of ``stored_hash``, which is empty where there is none."""
    from argon2.exceptions import VerificationError

    try:
        return _hasher().verify(stored_hash or _NOBODYS, _normal(password))
    except VerificationError:
        return False


def is_outdated(stored_hash: str) -> bool:
    """Tell whether a hash was made with other parameters."""
    return _hasher().check_needs_rehash(stored_hash)


@cache
def common_passwords() -> frozenset[str]:
    """Return common passwords of at least 12 characters, in lower case."""
    lines = gzip.decompress(_COMMON.read_bytes()).decode().splitlines()
    return frozenset(line for line in lines if line != "#" and not line.startswith("# "))


def _fault(password: str, email: str, company_name: str) -> str:
    """Return what is wrong with a new password, or ``""``."""
    size = len(password.encode("utf-8", "surrogatepass"))
    if len(unicodedata.normalize("NFC", password)) < SHORTEST or size > LONGEST:
        return f"the password must have at least {SHORTEST} characters and at most {LONGEST} bytes"
    if password.lower() in common_passwords():
        return "the password is one of the most common ones: choose another"
    own_names = {_letters(each) for each in (email, email.partition("@")[0], company_name)}
    if _letters(password) in own_names - {""}:
        return "the password must not be your address or the name of your company"
    return ""


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalpha())


def _normal(password: str) -> bytes:
    # Systems differ in how they write an accent: one sign, or a letter and a sign
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


@cache
def _hasher() -> PasswordHasher:
    # Imported here because it is slow, and few requests need it
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=_LANES)
