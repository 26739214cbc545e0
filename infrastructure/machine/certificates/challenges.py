"""Publish the answers to an authority's HTTP-01 challenges as files, while its order is open.

The server on port 80 runs in another process: it answers
``/.well-known/acme-challenge/<token>`` with what :func:`read` returns.
"""

from __future__ import annotations

import re
from pathlib import Path

from infrastructure.local.supervisor.private_files import replace_private

# base64url (RFC 8555 8.3); authorities use 43 characters
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,200}")


def is_token(token: str) -> bool:
    """Tell whether ``token`` is base64url, which is also a safe file name."""
    return _TOKEN.fullmatch(token) is not None


def read(folder: Path, token: str) -> str | None:
    """Return the key authorization of a token, ``None`` if no order has such a token."""
    if not is_token(token):
        return None
    try:
        return (folder / token).read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return None


class OpenChallenges:
    """The challenges of one order: what is published within the block is withdrawn at its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: list[Path] = []

    def __enter__(self) -> OpenChallenges:
        return self

    def __exit__(self, *error: object) -> None:
        for path in self._paths:
            path.unlink(missing_ok=True)

    def publish(self, token: str, key_authorization: str) -> None:
        """Publish an answer; raises ValueError for what is no token."""
        if not is_token(token):
            raise ValueError("the authority's token is not base64url")
        path = self._folder / token
        self._paths.append(path)
        replace_private(path, key_authorization)


def withdraw_all(folder: Path) -> None:
    """Remove what a process that was killed has left."""
    for path in folder.iterdir():
        path.unlink(missing_ok=True)
