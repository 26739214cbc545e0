"""Tell whether a fault means that there is no room on the disk of the mailbox."""

import errno
import sqlite3

#: What people are told
FULL = "the disk of the mailbox is full"

_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


def is_full(error: BaseException) -> bool:
    """Tell whether the system or SQLite could not write because the disk is full."""
    if isinstance(error, sqlite3.OperationalError):
        return error.sqlite_errorcode == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in _ERRNOS
