"""Messages in files of several kinds are read, and put into a mailbox by a command."""

from __future__ import annotations

import json
import mailbox
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from typer.testing import CliRunner

from postfinch import kept_mail
from postfinch.commands import app

ONE = b"Subject: one\n\n>From here\nFrom there\n"
TWO = b"Subject: two\n\nText\n"


class MailboxPort:
    """Takes messages as a local service does; those with "bad" in them are refused."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.queries: list[dict[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler) -> None:
                parts = urlsplit(handler.path)
                body = handler.rfile.read(int(handler.headers["Content-Length"]))
                status, answer = self._take(parts.path, parts.query, body)
                data = json.dumps(answer).encode()
                handler.send_response(status)
                handler.send_header("Content-Length", str(len(data)))
                handler.end_headers()
                handler.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _take(self, path: str, query: str, body: bytes) -> tuple[int, object]:
        if path != "/local/mailbox":
            return 404, {"errors": [{"message": "Resource could not be found"}]}
        if b"bad" in body:
            return 400, {"errors": [{"message": "the body is no message"}]}
        self.messages.append(body)
        self.queries.append(dict(parse_qsl(query, keep_blank_values=True)))
        return 201, {"results": {"ids": ["1"]}}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[MailboxPort]:
    port = MailboxPort()
    monkeypatch.setenv("POSTFINCH_URL", port.url)
    monkeypatch.setenv("POSTFINCH_API_KEY", "key")
    yield port
    port.close()


@pytest.fixture
def mbox(tmp_path: Path) -> Path:
    path = tmp_path / "archive"
    box = mailbox.mbox(path)
    for each in (ONE, TWO):
        box.add(each)
    box.close()
    return path


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    path = tmp_path / "Maildir"
    box = mailbox.Maildir(path)
    box.add(ONE)
    box.add_folder("Sent").add(TWO)
    return path


def contents(*paths: Path) -> list[bytes]:
    return [each.content.replace(b"\r\n", b"\n") for each in kept_mail.read(paths)]


def test_an_mbox_file_gives_its_messages_as_they_were_put_in(mbox: Path) -> None:
    messages = list(kept_mail.read([mbox]))
    assert [each.name for each in messages] == [f"{mbox}, message {n}" for n in (1, 2)]
    # An mbox cannot tell a line ">From" that was escaped from one that was not
    assert contents(mbox) == [ONE.replace(b">From", b"From"), TWO]


def test_a_maildir_gives_the_messages_of_its_folders_too(maildir: Path) -> None:
    assert contents(maildir) == [ONE, TWO]
    assert contents(maildir.parent) == [ONE, TWO]


def test_a_folder_gives_its_messages_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "b.eml").write_bytes(TWO)
    (tmp_path / "a.EML").write_bytes(ONE)
    (tmp_path / "notes.txt").write_bytes(b"none")
    (tmp_path / "within").mkdir()
    (tmp_path / "within" / "c.eml").write_bytes(ONE)
    os.symlink(tmp_path, tmp_path / "within" / "again")
    assert contents(tmp_path) == [ONE, TWO, ONE]


def test_what_cannot_be_read_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "large.eml").touch()
    os.truncate(tmp_path / "large.eml", kept_mail.MOST_OCTETS + 1)
    (tmp_path / "empty.eml").write_bytes(b"\n")
    (tmp_path / "none").mkdir()
    (tmp_path / "good.eml").write_bytes(TWO)
    names = ["missing.eml", "large.eml", "empty.eml", "none", "good.eml"]
    messages = list(kept_mail.read(tmp_path / name for name in names))
    assert [each.name for each in messages] == [str(tmp_path / name) for name in names]
    assert [each.problem for each in messages] == [
        "No such file or directory",
        "it has more than 52428800 bytes",
        "it is empty",
        "it has no .eml or .mbox file, and is no Maildir",
        "",
    ]


def test_the_command_puts_messages_into_an_inbox(port: MailboxPort, mbox: Path) -> None:
    arguments = ("mail", "import", str(mbox), "--inbox", "old", "--to", "a@a.test", "--to", "b@b")
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"imported": 2, "problems": []})
    assert [message[:12] for message in port.messages] == [b"Subject: one", b"Subject: two"]
    assert port.queries == [{"inbox": "old", "to": "a@a.test,b@b"}] * 2


def test_the_command_names_what_was_refused(port: MailboxPort, tmp_path: Path) -> None:
    for name, content in (("a.eml", b"bad"), ("b.eml", TWO)):
        (tmp_path / name).write_bytes(content)
    result = CliRunner().invoke(app, ["mail", "import", str(tmp_path), str(tmp_path / "c")])
    assert result.exit_code == 1
    assert f"{tmp_path / 'a.eml'}: the body is no message" in result.stderr.replace("\n", " ")
    assert "No such file" in result.stderr
    assert "1 imported, 2 not" in result.stderr
    assert port.messages == [TWO]
