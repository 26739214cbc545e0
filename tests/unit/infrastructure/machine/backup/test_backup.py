from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import sqlite3
import tarfile
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest

import chalicelib
from chalicelib.core import compression
from infrastructure.local.cloud import store
from infrastructure.local.cloud.store import Store
from infrastructure.local.cloud.stored_table import StoredTable
from infrastructure.local.supervisor import data_folder
from infrastructure.machine.backup import __main__ as command
from infrastructure.machine.backup import create, description, headers, layout, new_file, restore
from infrastructure.machine.backup.create import create_backup
from infrastructure.machine.backup.errors import BackupError
from infrastructure.machine.backup.restore import restore_backup
from tests.unit.infrastructure.machine.backup.conftest import JOURNAL, OBJECTS, add_object

SECRETS = {
    "secret.key": b"the secret",
    "api_key": b"the key",
    "tls/acme/account.json": b"the account",
    layout.CONFIGURATION: b"domain = 'mail.example.test'",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.backup"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    file = tmp_path / "etc.toml"
    file.write_bytes(SECRETS[layout.CONFIGURATION])
    return file


def members(path: Path) -> dict[str, bytes]:
    """Read an archive with Python's own tar."""
    with compression.reader(BytesIO(path.read_bytes())) as plain:
        archive = tarfile.open(fileobj=BytesIO(plain.read()))  # noqa: SIM115
    return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def objects(data_dir: Path) -> dict[str, bytes]:
    connection = sqlite3.connect(data_dir / layout.DATABASE)
    rows = connection.execute("SELECT key, file FROM objects").fetchall()
    connection.close()
    return {key: (data_dir / layout.object_path(file)).read_bytes() for key, file in rows}


def files(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file()}


def test_everything_that_is_stored_comes_back(
    data_dir: Path, path: Path, target: Path, configuration: Path
) -> None:
    create_backup(data_dir, path, configuration=configuration)
    restore_backup(path, target)
    assert objects(target) == OBJECTS
    assert {name: (target / name).read_bytes() for name in SECRETS} == SECRETS
    assert (target / "cloud/archives/function.zip").read_bytes() == b"PK"
    others = {"lock", layout.DATABASE, "cloud/archives/function.zip", *SECRETS}
    journals = {"journal/1-0.jsonl", "journal/2-single.jsonl"}
    expected = others | journals | {f for f in files(target) if f.startswith("cloud/objects/")}
    assert files(target) == expected
    assert len(expected) == len(others | journals) + len(OBJECTS)
    opened = Store(target / layout.DATABASE)
    assert opened.read("PRAGMA journal_mode").fetchone() == ("wal",)
    assert opened.read("PRAGMA auto_vacuum").fetchone() == (2,)
    opened.close()


TABLE = {
    "pk_name": "pk",
    "sk_name": "sk",
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
    ],
}


def add_items(data_dir: Path, number: int, name: str, *keys: tuple[str, str]) -> None:
    """Store items of a table as the service does."""
    place = ("0", "us-east-1", f"postfinch-test-{name}")
    service = Store(data_dir / layout.DATABASE)
    service.write("INSERT INTO tables VALUES (?, ?, ?, ?, ?)", (number, *place, "expires"))
    table = StoredTable(service, number, place, TABLE, "expires")
    table.prepare(None)
    for pk, sk in keys:
        table.put({"pk": {"S": pk}, "sk": {"S": sk}})
    service.commit()
    service.close()


def test_users_and_the_audit_log_are_restored_and_nobody_is_signed_in(
    data_dir: Path, path: Path, target: Path
) -> None:
    users = [("email#ann@acme.test", "user"), ("user#ann", "user"), ("account#1", "account")]
    lines = [("1#2026-11", "0000000000001#l1"), ("1#users#ann", "0000000000001#l1")]
    add_items(data_dir, 1, "config", *users, ("user#ann", "session#a"), ("user#ben", "session#b"))
    add_items(data_dir, 2, "audit", *lines)
    create_backup(data_dir, path)
    restore_backup(path, target)
    connection = sqlite3.connect(target / layout.DATABASE)
    rows = [
        connection.execute(f"SELECT pk, sk FROM items_{each} ORDER BY pk").fetchall()
        for each in (1, 2)
    ]
    connection.close()
    assert rows == [sorted(users), lines]


def test_only_the_owner_may_read_the_backup_and_what_is_restored(
    data_dir: Path, path: Path, target: Path
) -> None:
    old = os.umask(0)
    try:
        create_backup(data_dir, path)
        restore_backup(path, target)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600
    assert {(target / name).stat().st_mode & 0o777 for name in files(target)} == {0o600}
    assert target.stat().st_mode & 0o777 == 0o700


def test_the_listing_has_size_and_digest_of_every_file(data_dir: Path, path: Path) -> None:
    backup = create_backup(data_dir, path)
    contents = members(path)
    lines = [json.loads(line) for line in contents.pop(layout.LISTING).splitlines()]
    assert {line["path"]: (line["size"], line["sha256"]) for line in lines} == {
        name: (len(content), hashlib.sha256(content).hexdigest())
        for name, content in contents.items()
    }
    first = json.loads(contents[layout.DESCRIPTION])
    assert first["postfinch"] == chalicelib.__version__
    assert (first["format"], first["database"]) == (description.FORMAT, store.VERSION)
    assert backup.description.time == first["time"]
    assert (backup.files, backup.archive_bytes) == (len(lines), path.stat().st_size)


def test_a_journal_is_restored_without_the_line_that_was_being_written_and_as_of_a_unit_in_work(
    data_dir: Path, path: Path, target: Path
) -> None:
    create_backup(data_dir, path)
    restore_backup(path, target)
    assert (target / "journal/1-0.jsonl").read_bytes() == JOURNAL
    assert (target / "journal/2-single.jsonl").read_bytes() == JOURNAL


@pytest.mark.parametrize("moment", range(1, 6))
def test_a_journal_that_is_renamed_while_it_is_read_is_in_the_backup(
    data_dir: Path, path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    read = Path.read_bytes
    calls = iter(range(1, 100))

    def read_bytes(self: Path) -> bytes:
        if self.parent.name == "journal" and next(calls) == moment:
            for journal in list(self.parent.iterdir()):
                other = ".finished" if journal.suffix == ".jsonl" else ".jsonl"
                journal.rename(journal.with_suffix(other))
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    create_backup(data_dir, path)
    monkeypatch.undo()
    contents = members(path)
    assert contents["journal/1-0.jsonl"] == contents["journal/2-single.jsonl"] == JOURNAL


def test_both_files_of_a_journal_that_was_copied_twice_count(data_dir: Path, path: Path) -> None:
    (data_dir / "journal" / "1-0.finished").write_bytes(JOURNAL + b'[1,{"at":2}]\n')
    create_backup(data_dir, path)
    assert members(path)["journal/1-0.jsonl"] == JOURNAL + b'[1,{"at":2}]\n'


def test_the_copy_is_of_one_instant_and_nobody_waits_for_it(
    data_dir: Path, path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(create.ArchiveWriter, "add", _writing(data_dir, create.ArchiveWriter.add))
    create_backup(data_dir, path)
    restore_backup(path, target)
    assert objects(target) == OBJECTS
    assert not objects(data_dir).keys() >= OBJECTS.keys()


def _writing(data_dir: Path, add: Callable[..., None]) -> Callable[..., None]:
    """Let the service write and remove objects when the copy's instant has passed."""

    def adding(self: create.ArchiveWriter, name: str, content: bytes) -> None:
        if name.startswith("journal/"):
            service = Store(data_dir / layout.DATABASE)
            add_object(service, data_dir, f"later {name}", b"?")
            service.write("DELETE FROM objects WHERE key LIKE 'queue/%'")
            service.commit()
            service.close()
        add(self, name, content)

    return adding


def test_a_backup_ends_while_the_service_writes(data_dir: Path, path: Path) -> None:
    service = Store(data_dir / layout.DATABASE)
    has_ended = threading.Event()

    def write() -> None:
        while not has_ended.is_set():
            with service.transaction():
                service.write(
                    "INSERT OR REPLACE INTO documents VALUES ('s', 'a', 'e', ?)", (random.random(),)
                )

    thread = threading.Thread(target=write)
    thread.start()
    try:
        create_backup(data_dir, path)
    finally:
        has_ended.set()
        thread.join()
    service.close()
    assert path.exists()


def test_with_a_passphrase_no_secret_is_in_the_clear(
    data_dir: Path, path: Path, target: Path, configuration: Path
) -> None:
    create_backup(data_dir, path, passphrase="horse", configuration=configuration)
    contents = members(path)
    assert contents.keys() > SECRETS.keys()
    for name, content in SECRETS.items():
        assert not any(content in each for each in contents.values()), name
    restore_backup(path, target, passphrase="horse")
    assert {name: (target / name).read_bytes() for name in SECRETS} == SECRETS


@pytest.mark.parametrize("passphrase", ["", "Horse"])
def test_a_missing_or_wrong_passphrase_leaves_nothing(
    data_dir: Path, path: Path, target: Path, passphrase: str
) -> None:
    create_backup(data_dir, path, passphrase="horse")
    with pytest.raises(BackupError, match="BACKUP_PASSPHRASE"):
        restore_backup(path, target, passphrase=passphrase)
    assert not target.exists()


def test_a_passphrase_that_is_not_needed_is_no_error(
    data_dir: Path, path: Path, target: Path
) -> None:
    create_backup(data_dir, path)
    restore_backup(path, target, passphrase="horse")
    assert objects(target) == OBJECTS


def test_a_file_that_exists_stays_as_it_is(data_dir: Path, path: Path) -> None:
    path.write_bytes(b"mine")
    with pytest.raises(BackupError, match="exists"):
        create_backup(data_dir, path)
    assert path.read_bytes() == b"mine"
    assert sorted(each.name for each in path.parent.iterdir()) == ["data", path.name]


def test_two_backups_do_not_write_the_same_file(
    data_dir: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = new_file.new_file(path)
    with first as file:
        file.write(b"first")
        with pytest.raises(BackupError, match="being written"):
            create_backup(data_dir, path)
    assert path.read_bytes() == b"first"


def test_what_a_killed_backup_left_is_overwritten(data_dir: Path, path: Path, target: Path) -> None:
    new_file.partial_of(path).write_bytes(b"x" * 10_000_000)
    path.with_name(path.name + create._COPY).write_bytes(b"x")
    create_backup(data_dir, path)
    restore_backup(path, target)
    assert objects(target) == OBJECTS
    assert sorted(each.name for each in path.parent.iterdir()) == ["data", "elsewhere", path.name]


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize("checks", [0, 1, 2])
def test_a_disk_without_room_ends_the_backup_and_keeps_nothing_of_it(
    data_dir: Path, path: Path, monkeypatch: pytest.MonkeyPatch, checks: int
) -> None:
    remaining = [new_file.RESERVE * 2] * checks + [new_file.RESERVE - 1] * 100
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(remaining.pop(0)))
    with pytest.raises(OSError, match="No space") as failure:
        create_backup(data_dir, path)
    assert failure.value.errno == errno.ENOSPC
    assert [each.name for each in path.parent.iterdir()] == ["data"]


@pytest.mark.parametrize("is_large", [False, True])
def test_a_damaged_database_makes_no_backup(
    data_dir: Path, path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    if is_large:  # the first look at it does not see all
        monkeypatch.setattr(store, "check", lambda path: None)
    database = data_dir / layout.DATABASE
    Store(database).close()
    content = database.read_bytes()
    database.write_bytes(content[:8192] + b"?" * 8192 + content[16384:])
    Path(f"{database}-wal").unlink(missing_ok=True)
    with pytest.raises(BackupError, match="damaged"):
        create_backup(data_dir, path)
    assert [each.name for each in path.parent.iterdir()] == ["data"]


def test_an_object_without_its_file_makes_no_backup(data_dir: Path, path: Path) -> None:
    for each in (data_dir / "cloud/objects").rglob("*"):
        if each.is_file() and each.stat().st_size == len(OBJECTS["queue/a"]):
            each.unlink()
    with pytest.raises(OSError, match="No such file"):
        create_backup(data_dir, path)
    assert not path.exists()


def test_a_folder_without_a_database_makes_no_backup(tmp_path: Path, path: Path) -> None:
    with pytest.raises(BackupError, match="does not exist"):
        create_backup(tmp_path / "nowhere", path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_anything_in_it_is_not_restored_into(
    data_dir: Path, path: Path, target: Path
) -> None:
    create_backup(data_dir, path)
    target.mkdir()
    (target / "letter.txt").write_text("mine")
    with pytest.raises(BackupError, match=r"not empty, it has letter\.txt"):
        restore_backup(path, target)
    assert files(target) == {"letter.txt"}


def test_a_folder_that_a_service_has_is_not_restored_into(
    data_dir: Path, path: Path, target: Path
) -> None:
    create_backup(data_dir, path)
    target.mkdir()
    lock = data_folder.take(target)
    with pytest.raises(BackupError, match="in use by another running instance"):
        restore_backup(path, target)
    os.close(lock)
    assert files(target) == {"lock"}
    restore_backup(path, target)
    assert objects(target) == OBJECTS


def test_what_a_killed_restoration_left_is_replaced(
    data_dir: Path, path: Path, target: Path
) -> None:
    create_backup(data_dir, path)
    (target / ".restore" / "cloud").mkdir(parents=True)
    (target / ".restore" / "cloud" / "junk").write_bytes(b"?")
    restore_backup(path, target)
    assert not (target / ".restore").exists()
    assert "cloud/junk" not in files(target)


def refusal(path: Path, target: Path) -> str:
    """Return why a backup is not restored, and make sure that nothing of it is there."""
    with pytest.raises(BackupError) as failure:
        restore_backup(path, target)
    assert not target.exists()
    message = str(failure.value)
    assert "\n" not in message
    return message


def test_an_archive_that_was_cut_short_is_refused(data_dir: Path, path: Path, target: Path) -> None:
    create_backup(data_dir, path)
    content = path.read_bytes()
    for size in {*range(0, len(content), max(1, len(content) // 25)), len(content) - 1}:
        path.write_bytes(content[:size])
        assert "damaged" in refusal(path, target)


def test_an_archive_of_which_a_bit_changed_is_refused_unless_all_is_there(
    data_dir: Path, path: Path, target: Path
) -> None:
    create_backup(data_dir, path)
    content = path.read_bytes()
    draw = random.Random(39)
    refusals = 0
    for _ in range(100):
        damaged = bytearray(content)
        damaged[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            restore_backup(path, target)
        except BackupError:
            refusals += 1
            assert not target.exists()
        else:  # zstd ignores some bits
            assert objects(target) == OBJECTS
            shutil.rmtree(target)
    assert refusals > 90


def rewrite(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    """Write an archive anew, with other members; its compression is whole."""
    contents = members(path)
    change(contents)
    with path.open("wb") as file:
        compressor = compression.writer(file)
        for name, content in contents.items():
            compressor.write(headers.header(name, len(content), 0.0))
            compressor.write(content + headers.padding(len(content)))
        compressor.write(headers.END)
        compressor.close()


def _describe(**changes: object) -> Callable[[dict[str, bytes]], None]:
    def change(contents: dict[str, bytes]) -> None:
        described = {**json.loads(contents[layout.DESCRIPTION]), **changes}
        contents[layout.DESCRIPTION] = json.dumps(described).encode()

    return change


@pytest.mark.parametrize(
    "changes",
    [{"format": 2, "postfinch": "9.9.9", "more": 1}, {"database": 99, "postfinch": "9.9.9"}],
)
def test_a_backup_of_a_newer_version_is_refused(
    data_dir: Path, path: Path, target: Path, changes: dict[str, object]
) -> None:
    create_backup(data_dir, path)
    rewrite(path, _describe(**changes))
    expected = "the backup was made by Postfinch 9.9.9, which is newer than this version"
    assert refusal(path, target) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "x"},
        {"format": []},
        {"time": 1e300},
        {"time": "now"},
        {"salt": "zz"},
        {"salt": "aa"},
        {"database": None},
        {"unknown": 1},
    ],
)
def test_a_description_that_no_version_writes_is_refused(
    data_dir: Path, path: Path, target: Path, changes: dict[str, object]
) -> None:
    create_backup(data_dir, path)
    rewrite(path, _describe(**changes))
    assert "description" in refusal(path, target)


@pytest.mark.parametrize(
    "name",
    [
        "../escaped",
        "/tmp/escaped",
        "tls/../../escaped",
        "tls/./x",
        "journal/../../escaped.jsonl",
        "cloud/objects/aa/../../x",
        "lock",
        ".restore/x",
        "tls/a\nb",
        "cloud/state.sqlite3-wal",
        "x" * 300,
        "tls/" + "x/" * 3000,
    ],
)
def test_a_file_that_a_backup_does_not_have_is_refused(
    data_dir: Path, path: Path, target: Path, name: str
) -> None:
    create_backup(data_dir, path)

    def change(contents: dict[str, bytes]) -> None:
        listing = contents.pop(layout.LISTING)
        contents[name] = b"?"
        contents[layout.LISTING] = listing

    rewrite(path, change)
    assert "damaged" in refusal(path, target)
    assert sorted(each.name for each in path.parent.iterdir()) == ["data", path.name]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, b"x"])
def test_a_member_that_is_no_file_is_refused(
    data_dir: Path, path: Path, target: Path, kind: bytes
) -> None:
    create_backup(data_dir, path)
    first = members(path)[layout.DESCRIPTION]
    link = tarfile.TarInfo("tls/link")
    link.type, link.linkname = kind, "/etc"
    with path.open("wb") as file:
        compressor = compression.writer(file)
        compressor.write(headers.header(layout.DESCRIPTION, len(first), 0.0) + first)
        compressor.write(headers.padding(len(first)) + link.tobuf(tarfile.GNU_FORMAT))
        compressor.close()
    assert "is not a file" in refusal(path, target)


def _without(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda contents: contents.pop(name) and None


def _other(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda contents: contents.update({name: contents[name][::-1]})


@pytest.mark.parametrize(
    "change",
    [
        _without("secret.key"),
        _without(layout.LISTING),
        _without(layout.DESCRIPTION),
        _other("secret.key"),
        _other(layout.LISTING),
        _other("journal/1-0.jsonl"),
        lambda contents: contents.update({"api_key2": b"?"}),
    ],
)
def test_files_that_are_not_those_of_the_listing_are_refused(
    data_dir: Path, path: Path, target: Path, change: Callable[[dict[str, bytes]], None]
) -> None:
    create_backup(data_dir, path)
    rewrite(path, change)
    assert "damaged" in refusal(path, target)


def test_a_secret_cannot_stand_in_for_another_one(data_dir: Path, path: Path, target: Path) -> None:
    create_backup(data_dir, path, passphrase="horse")
    rewrite(path, lambda contents: contents.update({"api_key": contents["secret.key"]}))
    with pytest.raises(BackupError, match="api_key cannot be decrypted"):
        restore_backup(path, target, passphrase="horse")
    assert not target.exists()


def test_a_long_name_of_a_journal_comes_back(data_dir: Path, path: Path, target: Path) -> None:
    name = f"journal/{'1' * 20}-0{'d' * 150}.jsonl"
    (data_dir / name).write_bytes(JOURNAL)
    create_backup(data_dir, path)
    restore_backup(path, target)
    assert (target / name).read_bytes() == JOURNAL


def test_a_failure_at_any_write_of_a_restoration_leaves_nothing(
    data_dir: Path, path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_backup(data_dir, path)
    write, calls = restore._write, iter(range(100))

    def fail(place: Path, content: Iterator[bytes]) -> None:
        if next(calls) == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))
        write(place, content)

    monkeypatch.setattr(restore, "_write", fail)
    with pytest.raises(OSError, match="No space"):
        restore_backup(path, target)
    assert not target.exists()


def test_the_commands_say_what_they_did_or_why_not(
    data_dir: Path,
    path: Path,
    target: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BACKUP_PASSPHRASE", raising=False)
    folder = ["--data-dir", str(data_dir)]
    assert command.main(["create", str(path), *folder]) == 0
    output = capsys.readouterr().out.splitlines()
    assert len(output) == 2
    assert "in the clear" in output[1]
    assert command.main(["create", str(path), *folder]) == 1
    assert capsys.readouterr().err == f"postfinch: {path} exists: choose another name\n"
    assert command.main(["restore", str(path), "--data-dir", str(target)]) == 0
    capsys.readouterr()
    assert command.main(["restore", str(path), "--data-dir", str(target)]) == 1
    assert "is not empty" in capsys.readouterr().err
    nowhere = path.with_name("none")
    assert command.main(["restore", str(nowhere), "--data-dir", str(target)]) == 1
    assert capsys.readouterr().err == f"postfinch: {nowhere}: No such file or directory\n"
    path.unlink()
    monkeypatch.setenv("BACKUP_PASSPHRASE", "horse")
    assert command.main(["create", str(path), *folder]) == 0
    assert "in the clear" not in capsys.readouterr().out
