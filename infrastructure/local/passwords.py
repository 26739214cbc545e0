"""Check logins against a file of passwords, as ``htpasswd`` writes it or in plain text.

A line is ``name:hash`` or ``name:password``; empty lines and those that begin with ``#`` say
nothing. Hashes are those of Apache's ``htpasswd``: bcrypt (``$2y$``), MD5 (``$apr1$``) and SHA-1
(``{SHA}``), and the salted ones of other tools: ``{SSHA}``, ``$5$`` and ``$6$``.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

_MARKS = ("$", "{SHA}", "{SSHA}")
# bcrypt reads no more; Apache and others cut what is longer
_BCRYPT_OCTETS = 72
_SCHEMES = (
    "bcrypt",
    "apr_md5_crypt",
    "ldap_sha1",
    "ldap_salted_sha1",
    "sha256_crypt",
    "sha512_crypt",
)


class Passwords:
    """The names that may log in, each with its password as the file has it."""

    def __init__(self, by_name: Mapping[str, str]) -> None:
        self._by_name = dict(by_name)

    @classmethod
    def read(cls, path: str | Path) -> Passwords:
        """Read a file; raises ValueError with one line for the user if it cannot be used."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise ValueError(f"{path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not UTF-8") from None
        by_name = {}
        for number, line in enumerate(text.splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            name, colon, password = line.partition(":")
            if not name or not colon:
                raise ValueError(f"{path}, line {number}: neither name:hash nor name:password")
            if password.startswith(_MARKS) and not _is_hash(password):
                raise ValueError(f"{path}, line {number}: a kind of hash that cannot be checked")
            by_name[name] = password
        if not by_name:
            raise ValueError(f"{path} has no name with a password")
        return cls(by_name)

    @classmethod
    def of_setting(cls, environ: Mapping[str, str], name: str) -> Passwords | None:
        """Read the file that a setting names, None if it names none; raises as ``read``."""
        path = environ.get(name, "")
        try:
            return cls.read(path) if path else None
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    def is_right(self, username: str, password: str) -> bool:
        """Tell whether this is the password of this name; a bcrypt hash takes its time once."""
        expected = self._by_name.get(username)
        return expected is not None and _matches(expected, password)


def _matches(expected: str, password: str) -> bool:
    if not expected.startswith(_MARKS):
        return hmac.compare_digest(expected.encode(), password.encode())
    return _matches_hash(expected, password)


# Programs log in again for each message
@lru_cache(maxsize=64)
def _matches_hash(expected: str, password: str) -> bool:
    secret = password.encode()
    if expected.startswith("$2"):
        secret = secret[:_BCRYPT_OCTETS]
    # No hash has a password with a NUL
    return b"\0" not in secret and bool(_context().verify(secret, expected))


def _is_hash(text: str) -> bool:
    """Tell whether a hash is whole and of a kind that is known."""
    kind = _context().identify(text, resolve=True)
    if kind is None:
        return False
    try:
        kind.from_string(text)
    except (ValueError, TypeError):
        return False
    return True


@cache
def _context() -> Any:
    # Imported here: it takes a tenth of a second, and most files have no hashes
    from passlib.context import CryptContext

    return CryptContext(schemes=_SCHEMES)
