"""Keep the objects of MiniStack's buckets: what describes them in the store, their bytes in files.

A file is written once and never changed. It is removed an hour or more after no object has it any
more, so that a copy of the database goes with a copy of the files that is made after it.

Repairs (MiniStack 1.5.33): MiniStack reads the description of every object when it starts, from a
file each. And it answers for an object that it could not write to the disk as if it were stored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, MutableMapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from ministack.core import persistence
from ministack.services import s3

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.store import CannotStore, Store

#: Seconds between two looks for files that no object has
UNUSED_SECONDS = 3_600.0


class StoredObjects:
    """The objects of all buckets, with their files under ``directory``."""

    def __init__(self, store: Store, directory: Path, *, synchronizes: bool) -> None:
        self.store = store
        self._directory = directory
        self._synchronizes = synchronizes
        self._unused: set[Path] = set()

    def adopt(self) -> None:
        """Store what is in the buckets that MiniStack declared since the last call."""
        for (account, name), bucket in list(s3._buckets._data.items()):
            objects = bucket.get("objects")
            if isinstance(objects, Bucket):
                continue
            bucket["objects"] = contents = self.bucket(account, name)
            for key, record in (objects or {}).items():
                contents[key] = record

    def bucket(self, account: str, name: str) -> Bucket:
        """Return the objects of a bucket."""
        return Bucket(self, account, name)

    def write_file(self, content: bytes) -> str:
        """Write a new file; return its name. Raises :class:`CannotStore`."""
        name = uuid4().hex
        path = self.path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                if self._synchronizes:
                    os.fsync(descriptor)
        except OSError as error:
            path.unlink(missing_ok=True)
            self.store.fail(error)
            raise CannotStore(str(error)) from error
        return name

    def adopt_file(self, source: Path) -> str:
        """Take another file over, which stays where it is; return the new name."""
        name = uuid4().hex
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, path)
        except OSError:
            path.write_bytes(source.read_bytes())
        return name

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self._directory / name[:2] / name[2:]

    def expire(self, bucket: str, prefix: str, latest: float, most: int) -> int:
        """Remove objects that were last modified by then, at most so many; return their number."""
        sql = (
            "DELETE FROM objects WHERE (account, bucket, key) IN (SELECT account, bucket, key "
            "FROM objects WHERE bucket = ?1 AND modified <= ?2 "
            "AND substr(key, 1, length(?3)) = ?3 LIMIT ?4)"
        )
        return self.store.write(sql, (bucket, latest, prefix, most)).rowcount

    def remove_unused_files(self) -> None:
        """Remove the files that no object has, nor had at the call before.

        May run in a thread of its own.
        """
        unused = set()
        for path in self._directory.glob("[0-9a-f][0-9a-f]/*"):
            sql = "SELECT 1 FROM objects WHERE file = ?"
            if self.store.read(sql, (path.parent.name + path.name,)).fetchone() is None:
                unused.add(path)
        for path in unused & self._unused:
            path.unlink(missing_ok=True)
        self._unused = unused - self._unused


class Bucket(MutableMapping[str, Any]):
    """The objects of one bucket by key, as MiniStack has them in a ``dict``."""

    def __init__(self, objects: StoredObjects, account: str, name: str) -> None:
        self._objects = objects
        self._store = objects.store
        self._name = (account, name)

    def __getitem__(self, key: str) -> Json:
        sql = "SELECT file, record FROM objects WHERE (account, bucket, key) = (?, ?, ?)"
        row = self._store.read(sql, (*self._name, key)).fetchone()
        if row is None:
            raise KeyError(key)
        record = json.loads(row[1], object_hook=persistence._json_object_hook)
        return _Record(record, self._objects.path(row[0]))

    def __setitem__(self, key: str, record: Json) -> None:
        body = record.get("body")
        self.put(key, record, self._objects.write_file(b"" if body is None else body))

    def put(self, key: str, record: Json, file: str) -> None:
        """Put an object whose bytes are in a file."""
        described = {name: value for name, value in record.items() if name != "body"}
        modified = datetime.fromisoformat(record["last_modified"]).timestamp()
        text = json.dumps(described, default=persistence._json_default)
        sql = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)"
        self._store.write(sql, (*self._name, key, modified, file, text))

    def __delitem__(self, key: str) -> None:
        sql = "DELETE FROM objects WHERE (account, bucket, key) = (?, ?, ?)"
        if not self._store.write(sql, (*self._name, key)).rowcount:
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        sql = "SELECT 1 FROM objects WHERE (account, bucket, key) = (?, ?, ?)"
        return self._store.read(sql, (*self._name, key)).fetchone() is not None

    def __iter__(self) -> Iterator[str]:
        sql = "SELECT key FROM objects WHERE (account, bucket) = (?, ?) ORDER BY key"
        return iter([row[0] for row in self._store.read(sql, self._name).fetchall()])

    def __len__(self) -> int:
        sql = "SELECT COUNT(*) FROM objects WHERE (account, bucket) = (?, ?)"
        count: int = self._store.read(sql, self._name).fetchone()[0]
        return count


class _Record(dict[str, Any]):
    """What describes an object. Its bytes are read when they are asked for."""

    def __init__(self, record: Json, path: Path) -> None:
        super().__init__(record)
        self._path = path

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name == "body" else super().get(name, default)

    def __missing__(self, name: str) -> bytes:
        if name != "body":
            raise KeyError(name)
        return self._path.read_bytes()
