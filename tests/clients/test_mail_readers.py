"""Mail readers of others read the mailbox by IMAP and POP3."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.programs import require
from tests.node_packages import install
from tests.unit.infrastructure.local.mail_readers.conftest import (
    Post,
    certificate_dir,
    post,
    serve_post,
)
from tests.unit.infrastructure.local.mail_readers.messages import ENCODED, MIXED, PLAIN
from tests.unit.infrastructure.local.mail_readers.test_pop3_session import TRACE

__all__ = ["certificate_dir", "post", "serve_post"]


@pytest.fixture(scope="module")
def imapflow() -> Path:
    """The folder of the Node.js program with its packages."""
    return install(Path(__file__).parent / "node_imap")


@pytest.mark.parametrize("starttls", ["true", "false"])
def test_imapflow_reads_flags_waits_and_deletes(post: Post, imapflow: Path, starttls: str) -> None:
    post.add(PLAIN, MIXED, ENCODED)
    environ = {"IMAP_PORT": str(post.imap), "STARTTLS": starttls}
    with subprocess.Popen(
        ("node", "imapflow.mjs"),
        cwd=imapflow,
        env=os.environ | environ | {"NODE_EXTRA_CA_CERTS": post.authority},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "idle\n"
        post.add(PLAIN)
        output, errors = process.communicate(timeout=30)
    assert not errors
    seen = json.loads(output)
    assert seen["secure"] is (starttls == "true")
    sizes = [len(TRACE + each) for each in (PLAIN, MIXED, ENCODED)]
    assert [each["size"] for each in seen["messages"]] == sizes
    assert [each["sourceSize"] for each in seen["messages"]] == sizes
    assert [each["subject"] for each in seen["messages"]] == ["Hello", "Parts", "Grüße"]
    assert seen["messages"][2]["from"] == [{"name": "Jürgen", "address": "j@a.test"}]
    assert seen["messages"][0]["header"] == "Subject: Hello\r\n\r\n"
    assert all(0 <= each["age"] < 60_000 for each in seen["messages"])
    assert seen["downloads"] == {
        "1/1": "Dear you,\r\n.\r\n..two\r\nBye\r\n",
        "2/1.1": "Text one",
        "2/1.2": "<p>Café</p>",
        "2/2": "\ufffdPNG\r\n\x1a\n",
        "2/3.1": "Deep text",
        "2/3.2": "%PDF",
        "3/1": "Schöne Straße\r\n",
    }
    assert (seen["flagged"], seen["unseen"], seen["bySubject"]) == (True, [2, 3], [2])
    assert (seen["count"], seen["isDeleted"]) == (4, True)
    assert seen["status"] == {"messages": 3, "unseen": 3}
    assert len(post.mailbox.list()) == 3


def test_curl_reads_by_both(post: Post) -> None:
    require("curl", "curl")
    post.add(PLAIN, ENCODED)

    def curl(url: str) -> bytes:
        login = ("--user", "kim:any")
        safely = ("--ssl-reqd", "--cacert", post.authority)
        command = (shutil.which("curl") or "", "-sS", *safely, *login, url)
        return subprocess.run(command, capture_output=True, check=True, timeout=30).stdout

    assert curl(f"imap://localhost:{post.imap}/INBOX?UNSEEN") == b"* SEARCH 1 2\r\n"
    assert curl(f"imap://localhost:{post.imap}/INBOX;UID=2") == TRACE + ENCODED
    assert curl(f"imap://localhost:{post.imap}/INBOX?UNSEEN") == b"* SEARCH 1\r\n"
    assert curl(f"pop3://localhost:{post.pop3}/1") == TRACE + PLAIN
    assert len(curl(f"pop3://localhost:{post.pop3}/").splitlines()) == 2
