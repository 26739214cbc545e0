"""A data directory as a service on one machine has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.cloud import store
from infrastructure.local.cloud.store import Store
from infrastructure.local.cloud.stored_objects import StoredObjects

OBJECTS = {"queue/a": b"first " * 1000, "queue/b": b"", "transmissions/c": bytes(range(256)) * 8000}
JOURNAL = b'[0,{"at":1}]\n'


def add_object(open_store: Store, data_dir: Path, key: str, content: bytes) -> str:
    """Store an object; return the name of its file."""
    objects = StoredObjects(open_store, data_dir / "cloud" / "objects", synchronizes=False)
    file = objects.write_file(content)
    record = {"last_modified": "2026-11-27T00:00:00+00:00"}
    objects.bucket("0", "bucket").put(key, record, file)
    open_store.commit()
    return file


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    for name in ("cloud/archives", "journal", "tls/acme", "logs", "mail/new"):
        (folder / name).mkdir(parents=True)
    store.create(folder / "cloud" / store.NAME)
    open_store = Store(folder / "cloud" / store.NAME)
    for key, content in OBJECTS.items():
        add_object(open_store, folder, key, content)
    unused = folder / "cloud" / "objects" / "ff"
    unused.mkdir(exist_ok=True)
    (unused / ("0" * 30)).write_bytes(b"no object has it")
    (folder / "cloud" / "archives" / "function.zip").write_bytes(b"PK")
    (folder / "journal" / "1-0.jsonl").write_bytes(JOURNAL + b'[1,{"at"')
    (folder / "journal" / "2-single.finished").write_bytes(JOURNAL)
    (folder / "secret.key").write_text("the secret")
    (folder / "api_key").write_text("the key")
    (folder / "tls" / "acme" / "account.json").write_text("the account")
    (folder / "logs" / "api.log").write_text("a log")
    (folder / "lock").touch()
    (folder / "ports.json").write_text("{}")
    # As after a crash: what is stored is in the log of the database, which nobody has closed
    database = folder / "cloud" / store.NAME
    state = [(path, path.read_bytes()) for path in database.parent.glob(f"{store.NAME}*")]
    open_store.close()
    for path, content in state:
        if not path.name.endswith("-shm"):
            path.write_bytes(content)
    assert Path(f"{database}-wal").stat().st_size
    return folder
