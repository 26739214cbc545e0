"""End the sessions of all users in a restored database.

A copy may have sessions that were ended after it was made, and whoever found the copy of a cookie
is not signed in by it. Users sign in again, with the passwords and factors of the copy.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

_CONFIG: Final = "SELECT number FROM tables WHERE name LIKE 'postfinch-%-config'"
_SESSIONS: Final = "pk >= 'user#' AND pk < 'user$' AND sk LIKE 'session#%'"


def end_sessions(database: Path) -> int:
    """Remove the sessions; return how many there were. Raises sqlite3.Error."""
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        tables = connection.execute(_CONFIG).fetchall()
        count = sum(
            connection.execute(f"DELETE FROM items_{table} WHERE {_SESSIONS}").rowcount
            for (table,) in tables
        )
        connection.execute("COMMIT")
    return count
