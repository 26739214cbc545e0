"""Keep the DNS records that the user writes, in one file for each name.

The API writes them and the DNS server reads them, each in a process of its own. A file is replaced
as a whole, so a reader never sees half of one. The files outlive the service.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from infrastructure.local.dns.record_syntax import BadRecord, read_name
from infrastructure.local.dns.resolver import Records

# No name of the DNS ends so.
_NEW = "~"


class LocalZone:
    """The records at each name. Any thread and process may use it."""

    def __init__(self, root: Path) -> None:
        """Open the zone in the directory `root`, which is made if it is missing."""
        root.mkdir(parents=True, exist_ok=True)
        self._root = root

    def lookup(self, name: str) -> Records | None:
        """Return the records at a name, ``None`` if there are none."""
        try:
            text = (self._root / read_name(name)).read_text()
        except (BadRecord, FileNotFoundError):
            return None
        return [(record["type"], record["value"]) for record in json.loads(text)]

    def put(self, name: str, records: Records) -> None:
        """Store the records of a name instead of those before."""
        new = self._root / f"{secrets.token_hex(8)}{_NEW}"
        items = [{"type": rtype, "value": value} for rtype, value in records]
        new.write_text(json.dumps(items))
        new.replace(self._root / name)

    def delete(self, name: str) -> bool:
        """Delete the records of a name; return ``False`` if there are none."""
        try:
            (self._root / name).unlink()
        except FileNotFoundError:
            return False
        return True

    def all(self) -> dict[str, Records]:
        """Return the records of every name."""
        names = [name for name in os.listdir(self._root) if not name.endswith(_NEW)]
        return {name: records for name in names if (records := self.lookup(name)) is not None}
