"""Store, list and read messages in the local mailbox, a Maildir with an index."""

import errno
import fcntl
import mailbox as stdlib_mailbox
import os
import re
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.mailbox import mailbox as mailbox_module
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace

ROOT = Path(__file__).parents[5]


def message(sender: str = "Ann <ann@a.test>", subject: str = "Hello", body: str = "Hi") -> bytes:
    return f"From: {sender}\r\nSubject: {subject}\r\n\r\n{body}\r\n".encode()


@pytest.fixture
def box(tmp_path: Path) -> SinkMailbox:
    return SinkMailbox(tmp_path)


def ids(box: SinkMailbox, **texts: str) -> list[str]:
    return [entry["id"] for entry in box.list(**texts)]  # type: ignore[arg-type]


def test_a_message_is_listed_as_soon_as_it_is_added(box: SinkMailbox) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    message_id = box.add("bounces@a.test", "bob@b.test", message())
    (entry,) = box.list()
    received_at = entry.pop("received_at")  # type: ignore[misc]
    raw = box.read(message_id)
    assert raw is not None
    assert entry == {
        "id": message_id,
        "from": "ann@a.test",
        "to": "bob@b.test",
        "subject": "Hello",
        "size": len(raw),
        "unread": True,
        "inbox": "",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", received_at)
    assert before <= datetime.fromisoformat(received_at) <= datetime.now(UTC)


def test_a_message_is_read_unchanged_under_its_trace_fields(box: SinkMailbox) -> None:
    message_id = box.add("bounces@a.test", "bob@b.test", message())
    trace = b"Return-Path: <bounces@a.test>\r\nDelivered-To: bob@b.test\r\n"
    assert box.read(message_id) == trace + message()


def test_mail_readers_find_the_messages(box: SinkMailbox, tmp_path: Path) -> None:
    message_id = box.add("", "bob@b.test", message())
    maildir = stdlib_mailbox.Maildir(tmp_path, create=False)
    assert maildir.keys() == [message_id]
    assert maildir[message_id]["Return-Path"] == "<>"
    assert not list((tmp_path / "tmp").iterdir())


def test_a_message_seen_by_a_mail_reader_can_still_be_read(
    box: SinkMailbox, tmp_path: Path
) -> None:
    message_id = box.add("", "bob@b.test", message())
    (tmp_path / "new" / message_id).rename(tmp_path / "cur" / f"{message_id}:2,S")
    assert box.read(message_id)
    assert ids(SinkMailbox(tmp_path)) == [message_id]
    assert box.clear() == 1
    assert box.read(message_id) is None


def test_a_message_that_is_flagged_while_it_is_read_is_read(
    box: SinkMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = box.add("", "a@b.test", b"Subject: X\r\n\r\nX")
    look = box._path

    def look_and_flag(wanted_id: str) -> Path | None:
        path = look(wanted_id)
        monkeypatch.setattr(box, "_path", look)
        box.set_unread([wanted_id], False)
        return path

    monkeypatch.setattr(box, "_path", look_and_flag)
    assert b"Subject: X" in (box.read(message_id) or b"")


def test_the_newest_messages_come_first_and_no_more_than_the_limit(box: SinkMailbox) -> None:
    added = [box.add("", f"{number}@b.test", message()) for number in range(5)]
    assert len(set(added)) == 5
    assert ids(box) == added[::-1]
    assert [entry["id"] for entry in box.list(limit=2)] == [added[4], added[3]]
    assert box.list(limit=0) == box.list(limit=-1) == []


def test_a_hundred_messages_are_listed_by_default(box: SinkMailbox) -> None:
    for number in range(101):
        box.add("", f"{number}@b.test", message())
    assert len(box.list()) == 100


def test_a_recipient_is_matched_exactly_in_any_case(box: SinkMailbox) -> None:
    copy = box.add("", "cc@B.test", message())
    box.add("", "bcc@b.test", message())
    assert ids(box, to="CC@b.test") == [copy]
    assert ids(box, to="cc@b") == ids(box, to="") == []


def test_an_asterisk_stands_for_any_part_of_a_recipient(box: SinkMailbox) -> None:
    copy = box.add("", "cc@B.test", message())
    hidden = box.add("", "bcc@b.test", message())
    odd = box.add("", "a_100%\\[x]?@c.test", message())
    assert ids(box, to="*cc@b.test") == [hidden, copy]
    assert ids(box, to="cc*") == ids(box, to="cc@*.TEST") == ids(box, to="c*@*") == [copy]
    assert ids(box, to="*b.t*") == [hidden, copy]
    assert ids(box, to="*") == [odd, hidden, copy]
    assert ids(box, to="a_*%\\[x]?@*") == [odd]
    assert ids(box, to="%cc*") == ids(box, to="_cc*") == ids(box, to="?cc*") == []


def test_senders_and_subjects_are_matched_by_parts_in_any_case(box: SinkMailbox) -> None:
    ann = box.add("VERP+1@bounce.test", "Bob@B.test", message("Ann <Ann@a.test>", "Your Bill"))
    eve = box.add("", "carl@c.test", message("Eve <eve@e.test>", "Other"))
    assert ids(box, sender="ann@A.") == [ann]
    assert ids(box, sender="EVE <") == [eve]
    assert ids(box, sender="verp+1@") == [ann]
    assert ids(box, subject="bill") == [ann]
    assert ids(box, subject="r", to="carl@c.test") == [eve]
    assert ids(box, subject="bill", to="carl@c.test") == []
    assert ids(box, sender="%") == ids(box, subject="_ill") == ids(box, subject="*") == []
    assert ids(box, sender="", subject="") == [eve, ann]


def test_encoded_words_and_folded_and_raw_utf8_fields_are_decoded(box: SinkMailbox) -> None:
    encoded = box.add(
        "",
        "b@b.test",
        b"From: =?utf-8?q?J=C3=BCrgen=2C_M?= <j@a.test>\r\n"
        b"Subject: =?utf-8?b?R3LDvMOf?=\r\n =?iso-8859-1?q?e_=FCber?=\r\n all\r\n\r\n",
    )
    raw = box.add("", "b@b.test", message("é <é@a.test>", "Ça\r\n va"))
    subjects = {entry["id"]: (entry["from"], entry["subject"]) for entry in box.list()}
    assert subjects == {encoded: ("j@a.test", "Grüße über all"), raw: ("é@a.test", "Ça va")}
    assert ids(box, subject="GRÜSSE") == [encoded]
    assert ids(box, sender="jürgen, m") == [encoded]


@pytest.mark.parametrize(
    "subject",
    ["=?utf-8?b?=====?=", "=?no-such?q?x?=", "=?unicode_escape?q?=5Cud800?=", "=?hex?q?zz?="],
)
def test_a_broken_encoded_word_does_not_lose_the_message(box: SinkMailbox, subject: str) -> None:
    message_id = box.add("", "b@b.test", message(subject=subject))
    assert ids(box) == [message_id]


def test_comments_in_comments_of_a_sender_do_not_lose_the_message(box: SinkMailbox) -> None:
    box.add("envelope@a.test", "b@b.test", message("(" * 20_000))
    assert [entry["from"] for entry in box.list()] == ["envelope@a.test"]


def test_without_a_from_field_the_envelope_sender_is_shown(box: SinkMailbox) -> None:
    box.add("envelope@a.test", "b@b.test", b"\r\nFrom: not a field\r\n")
    box.add("envelope@a.test", "b@b.test", b"no field at all")
    assert [(entry["from"], entry["subject"]) for entry in box.list()] == [
        ("envelope@a.test", ""),
        ("envelope@a.test", ""),
    ]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200)
    | st.binary(max_size=80).map(lambda noise: b"Subject: =?" + noise + b"?=\r\nFrom: " + noise)
)
def test_any_bytes_can_be_stored(box: SinkMailbox, content: bytes) -> None:
    message_id = box.add("", "b@b.test", content)
    assert (box.read(message_id) or b"").endswith(content)
    assert box.list(limit=1)[0]["id"] == message_id


@pytest.mark.parametrize(("sender", "recipient"), [("a\r\nBcc: x", "b"), ("a", "b\n"), ("\0", "b")])
def test_an_address_that_breaks_out_of_its_field_is_refused(
    box: SinkMailbox, sender: str, recipient: str
) -> None:
    with pytest.raises(ValueError, match="envelope address"):
        box.add(sender, recipient, message())
    assert box.list() == []


@pytest.mark.parametrize(
    "message_id",
    [
        "",
        ".",
        "..",
        "../../secret",
        "/etc/passwd",
        "1700000000.M000000P1.postfinch/../../secret",
        "1700000000.M000000P1.postfinch\n",
        "1700000000.M000000P1.postfinch",
        "*",
        "a\0b",
    ],
)
def test_no_other_file_can_be_read(box: SinkMailbox, tmp_path: Path, message_id: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    box.add("", "b@b.test", message())
    assert box.read(message_id) is None


def test_ids_need_no_quoting_in_a_url(box: SinkMailbox) -> None:
    assert re.fullmatch(r"[A-Za-z0-9._-]+", box.add("", "b@b.test", message()))


def test_clearing_deletes_every_message(box: SinkMailbox, tmp_path: Path) -> None:
    message_id, *_ = [box.add("", f"{number}@b.test", message()) for number in range(3)]
    assert box.clear() == 3
    assert box.clear() == 0
    assert box.list() == []
    assert box.read(message_id) is None
    assert not list((tmp_path / "new").iterdir())


def test_an_index_that_is_missing_is_built_again(box: SinkMailbox, tmp_path: Path) -> None:
    for number in range(3):
        box.add("verp@a.test", f"{number}@b.test", message(subject=f"=?utf-8?q?=C3=A9{number}?="))
    listing = box.list()
    box.close()
    for part in tmp_path.glob("index.sqlite3*"):
        part.unlink()
    again = SinkMailbox(tmp_path)
    assert again.list() == listing
    assert len(again.list(sender="verp@")) == 3


@pytest.mark.parametrize(
    "damage", ["overwritten", "cut", "garbled", "bookkeeping", "other version"]
)
def test_an_index_that_is_damaged_is_built_again(
    box: SinkMailbox, tmp_path: Path, damage: str
) -> None:
    for number in range(100):
        box.add("verp@a.test", f"{number}@b.test", message())
    listing = box.list()
    box.close()
    index = tmp_path / "index.sqlite3"
    content = index.read_bytes()
    if damage == "overwritten":
        index.write_bytes(b"not a database" * 1000)
    elif damage == "cut":
        index.write_bytes(content[: len(content) // 2])
    elif damage == "garbled":
        index.write_bytes(content[:6000] + b"\xff" * 3000 + content[9000:])
    elif damage == "bookkeeping":  # a list of free pages that are in use
        index.write_bytes(content[:32] + bytes([0, 0, 0, 2, 0, 0, 0, 9]) + content[40:])
    else:
        with sqlite3.connect(index) as database:
            database.executescript("DROP TABLE messages; CREATE TABLE messages (old);")
            database.execute("PRAGMA user_version=99")
    again = SinkMailbox(tmp_path)
    assert again.list() == listing
    added = [again.add("", "b@b.test", message()) for _ in range(200)]
    assert [entry["id"] for entry in again.list(limit=200)] == added[::-1]


def test_opening_adds_unlisted_messages_to_the_index_and_removes_missing_ones(
    box: SinkMailbox, tmp_path: Path
) -> None:
    listed_id, unlisted_id, missing_id = [
        box.add("a@a.test", "b@b.test", message()) for _ in range(3)
    ]
    box.close()
    with sqlite3.connect(tmp_path / "index.sqlite3") as database:
        database.execute("DELETE FROM messages WHERE id = ?", (unlisted_id,))
    (tmp_path / "new" / missing_id).unlink()
    (tmp_path / "new" / "README").write_text("not a message")
    assert ids(SinkMailbox(tmp_path)) == [unlisted_id, listed_id]


def test_a_reader_in_another_process_sees_and_clears_what_is_added(
    box: SinkMailbox, tmp_path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from infrastructure.local.mailbox.mailbox import SinkMailbox\n"
        "box = SinkMailbox(Path(sys.argv[1]))\n"
        "for line in sys.stdin:\n"
        "    clear = line == 'clear\\n'\n"
        "    print(box.clear() if clear else len(box.list(limit=1000)), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for count in range(1, 30):
            box.add("", "b@b.test", message())
            print("list", file=reader.stdin, flush=True)
            assert reader.stdout.readline() == f"{count}\n"
        print("clear", file=reader.stdin, flush=True)
        assert reader.stdout.readline() == "29\n"
        assert box.list() == []
        message_id = box.add("", "b@b.test", message())
        assert ids(box) == [message_id]


def test_opening_waits_while_another_process_repairs_the_index(tmp_path: Path) -> None:
    SinkMailbox(tmp_path).close()
    opener = threading.Thread(target=lambda: SinkMailbox(tmp_path).close())
    with (tmp_path / "index.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        opener.start()
        opener.join(0.1)
        assert opener.is_alive()
    opener.join(5)
    assert not opener.is_alive()


def test_two_processes_may_open_a_new_mailbox_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from infrastructure.local.mailbox.mailbox import SinkMailbox\n"
        "SinkMailbox(Path(sys.argv[1])).add('', 'b@b.test', b'')\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "box")]
    openers = [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]
    assert [opener.wait(30) for opener in openers] == [0, 0, 0]
    assert len(SinkMailbox(tmp_path / "box").list()) == 3


def test_a_flag_is_in_the_name_of_the_file_as_mail_readers_have_it(
    box: SinkMailbox, tmp_path: Path
) -> None:
    read_id, unread_id = [box.add("", "b@b.test", message()) for _ in range(2)]
    box.set_unread([read_id], False)
    assert (tmp_path / "cur" / f"{read_id}:2,S").exists()
    assert box.index.counts() == (2, 1)
    assert {each["id"]: each["unread"] for each in box.list()} == {read_id: False, unread_id: True}
    box.set_unread([read_id], True)
    assert (tmp_path / "new" / read_id).exists()
    assert box.index.counts() == (2, 2)


def test_flags_of_mail_readers_are_preserved(box: SinkMailbox, tmp_path: Path) -> None:
    message_id = box.add("", "b@b.test", message())
    (tmp_path / "new" / message_id).rename(tmp_path / "cur" / f"{message_id}:2,FS")
    box.set_unread([message_id], True)
    assert (tmp_path / "cur" / f"{message_id}:2,F").exists()


@pytest.mark.parametrize("is_indexed", [True, False])
def test_opening_takes_the_flags_from_the_names(
    box: SinkMailbox, tmp_path: Path, is_indexed: bool
) -> None:
    message_id = box.add("", "b@b.test", message())
    box.close()
    (tmp_path / "new" / message_id).rename(tmp_path / "cur" / f"{message_id}:2,S")
    if not is_indexed:
        (tmp_path / "index.sqlite3").unlink()
    assert [each["unread"] for each in SinkMailbox(tmp_path).list()] == [False]


def test_one_message_is_deleted(box: SinkMailbox, tmp_path: Path) -> None:
    lost, other = [box.add("", "b@b.test", message()) for _ in range(2)]
    assert box.delete(lost)
    assert not box.delete(lost)
    assert not box.delete("../index.sqlite3")
    assert ids(box) == [other]
    assert [each.name for each in (tmp_path / "new").iterdir()] == [other]


def test_messages_are_stored_together_in_their_order(box: SinkMailbox) -> None:
    traces = [Trace("a@a.test", (f"{n}@b.test",), tags=("red",) if n else ()) for n in range(3)]
    message_ids = box.store_all((each, message()) for each in traces)
    assert message_ids == sorted(message_ids) == ids(box)[::-1]
    assert [box.index.row(each).given_tags for each in message_ids] == [  # type: ignore[union-attr]
        "[]",
        '["red"]',
        '["red"]',
    ]


def test_of_messages_that_cannot_all_be_stored_none_is(tmp_path: Path) -> None:
    box = SinkMailbox(tmp_path)
    good, bad = Trace("a@a.test", ("b@b.test",)), Trace("a\r\n@a.test", ("b@b.test",))
    with pytest.raises(ValueError, match="line break"):
        box.store_all([(good, message()), (bad, message())])
    assert box.list() == []
    assert not [*(tmp_path / "new").iterdir(), *(tmp_path / "tmp").iterdir()]
    box.index.close()
    with pytest.raises(sqlite3.Error):
        box.store_all([(good, message()), (good, message())])
    assert not list((tmp_path / "new").iterdir())


def test_a_message_that_does_not_fit_on_the_disk_takes_no_place_on_it(
    box: SinkMailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(descriptor: int, parts: tuple[bytes, ...]) -> int:
        os.write(descriptor, parts[-1][: len(parts[-1]) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(mailbox_module.os, "writev", write_half)
    with pytest.raises(OSError, match="No space"):
        box.add("ann@a.test", "bob@b.test", message())
    assert [*(tmp_path / "tmp").iterdir(), *(tmp_path / "new").iterdir()] == []
    assert box.list() == []


def test_many_messages_are_flagged_in_several_transactions(
    box: SinkMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_ids = [box.add("ann@a.test", "bob@b.test", message()) for _ in range(5)]
    sizes: list[int] = []
    set_unread = box.index.set_unread

    def noted(ids: list[str], unread: bool) -> None:
        sizes.append(len(ids))
        set_unread(ids, unread)

    monkeypatch.setattr(box.index, "set_unread", noted)
    monkeypatch.setattr(mailbox_module, "FLAGGED_AT_ONCE", 2)
    box.set_unread(message_ids, False)
    assert sizes == [2, 2, 1]
    assert box.index.counts() == (5, 0)


def test_messages_can_be_deleted_from_a_full_disk(
    box: SinkMailbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_ids = [box.add("ann@a.test", "bob@b.test", message()) for _ in range(3)]
    take = box.index.take

    def take_with_room(ids: list[str]) -> list[str]:
        if len([*(tmp_path / "new").iterdir()]) == 3:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return take(ids)

    monkeypatch.setattr(box.index, "take", take_with_room)
    assert box.delete_all(message_ids[:2]) == 2
    assert ids(box) == message_ids[2:]
    assert [each.name for each in (tmp_path / "new").iterdir()] == message_ids[2:]


def test_a_from_field_of_any_length_is_read_in_part(box: SinkMailbox, tmp_path: Path) -> None:
    authors = ", ".join(f"a{number}@a.test" for number in range(100_000))
    message_id = box.add("ann@a.test", "bob@b.test", message(authors))
    row = box.index.row(message_id)
    assert row is not None
    assert row.author == "a0@a.test"
    assert len(row.senders) < 30_000
    mailbox_module._author.cache_clear()
