"""The command ``postfinch`` with a local service: what is sent, arrives and happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journey.service import KEY, ROOT, Service


class Command:
    """Runs ``postfinch`` as a process, for one service."""

    def __init__(self, service: Service) -> None:
        self.line = [sys.executable, "-m", "postfinch"]
        self.environment = os.environ | {
            "POSTFINCH_URL": f"http://127.0.0.1:{service.api_port}",
            "POSTFINCH_API_KEY": KEY,
        }

    def __call__(self, *arguments: object, code: int = 0, data: bytes | None = None) -> str:
        """Run it, check its exit code, and return what it writes to both streams."""
        result = subprocess.run(
            [*self.line, *map(str, arguments)],
            cwd=ROOT,
            env=self.environment,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = result.stdout.decode()
        assert result.returncode == code, output
        return output

    def json(self, *arguments: object) -> Any:
        """Run it with ``--json`` and return what it writes."""
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def postfinch(service: Service) -> Command:
    return Command(service)


SEND = ("send", "--from", "hello@example.test", "--subject", "Hello")


def only_message(postfinch: Command, recipient: str) -> Any:
    (row,) = postfinch.json("mail", "wait", "--to", recipient)
    return postfinch.json("mail", "show", row["id"])


def test_a_message_with_a_copy_and_a_file_arrives_and_can_be_read(
    postfinch: Command, tmp_path: Path
) -> None:
    (tmp_path / "body.html").write_text('<a href="https://example.test/goal">Go</a>')
    (tmp_path / "list.csv").write_bytes(b"a,b\n")
    arguments = ("--html", f"@{tmp_path / 'body.html'}", "--text", "Read this")
    files = ("--attach", tmp_path / "list.csv", "--header", "X-Kind: test")
    people = ("--to", "Ann <ann@command.test>", "--cc", "carl@command.test")
    result = postfinch.json(*SEND, *arguments, *files, *people, "--wait")
    assert result["total_accepted_recipients"] == 2
    assert {end["type"] for end in result["ends"]} == {"delivery"}

    message = only_message(postfinch, "carl@command.test")
    headers = {each["name"]: each["value"] for each in message["headers"]}
    assert headers["To"] == "ann@command.test"
    assert headers["Cc"] == "carl@command.test"
    assert headers["X-Kind"] == "test"
    assert "https://example.test/goal" in [link["target"] for link in message["links"]]

    text = postfinch("mail", "show", message["id"])
    assert "\nRead this\n" in text
    assert "list.csv (text/csv, 4 bytes)" in text
    assert ">Go</a>" in postfinch("mail", "show", message["id"], "--html")
    assert "Subject: Hello" in postfinch("mail", "show", message["id"], "--source")
    folder = tmp_path / "files"
    for name in ("list.csv", "list-2.csv"):  # a file that is there is never replaced
        assert postfinch("mail", "show", message["id"], "--save", folder).strip().endswith(name)
        assert (folder / name).read_bytes() == b"a,b\n"


def test_send_prints_the_id_and_data_fills_the_content(
    postfinch: Command, service: Service
) -> None:
    arguments = ("--to", "dan@command.test", "--text", "Hi {{name}}", "--data", '{"name": "Dan"}')
    options = ("--campaign", "spring", "--metadata", '{"order": 7}', "--no-open-tracking")
    transmission_id = postfinch(*SEND, *arguments, *options).strip()
    assert transmission_id.isdigit()
    message = only_message(postfinch, "dan@command.test")
    assert message["text"].strip() == "Hi Dan"
    assert message["transmission_id"] == transmission_id
    assert message["campaign_id"] == "spring"
    assert "open" not in [link["kind"] for link in message["links"]]


def test_a_whole_message_goes_to_the_recipients_of_its_headers(postfinch: Command) -> None:
    data = (
        "From: hello@example.test\nTo: Eve <eve@command.test>\nCc: fay@command.test\n"
        "Subject: Grüße\n\nWhole\n"
    ).encode()
    result = json.loads(postfinch("send", "--raw", "-", "--wait", "--json", data=data))
    recipients = {end["rcpt_to"] for end in result["ends"]}
    assert recipients == {"eve@command.test", "fay@command.test"}
    assert only_message(postfinch, "fay@command.test")["subject"] == "Grüße"
    latin = postfinch("send", "--raw", "-", code=2, data=data.decode().encode("latin-1"))
    assert "is not UTF-8" in latin
    assert "--raw is the whole message" in postfinch("send", "--raw", "-", "--text", "x", code=2)


def test_wait_tells_of_a_bounce_and_the_exit_code_is_1(postfinch: Command) -> None:
    people = ("--to", "gil@command.test", "--to", "bounce-hard@command.test")
    output = postfinch(*SEND, *people, "--text", "x", "--wait", code=1)
    assert "gil@command.test\tdelivery" in output
    assert "bounce-hard@command.test\tbounce\t550" in output


def test_an_idempotency_key_sends_once(postfinch: Command) -> None:
    arguments = (*SEND, "--to", "ida@command.test", "--text", "x", "--idempotency-key", "one")
    assert postfinch(*arguments) == postfinch(*arguments, "--wait").splitlines(True)[0]
    only_message(postfinch, "ida@command.test")


def test_waiting_in_vain_says_what_is_there_instead(postfinch: Command) -> None:
    postfinch(*SEND, "--to", "jim@command.test", "--text", "x", "--wait")
    subject = ("--to", "jim@command.test", "--subject", "Welcome")
    output = postfinch("mail", "wait", *subject, "--timeout", "0.2", code=1)
    assert "no message for --to 'jim@command.test' --subject 'Welcome' in 0.2 s" in output
    assert "jim@command.test: 'Hello'" in output


def test_deleting_asks_unless_the_messages_are_named(postfinch: Command) -> None:
    for name in ("kay", "lea"):
        postfinch(*SEND, "--to", f"{name}@command.test", "--text", "x", "--wait")
    (row,) = postfinch.json("mail", "list", "--to", "kay@command.test")
    postfinch("mail", "delete", row["id"])
    assert postfinch.json("mail", "list", "--to", "kay@command.test") == []
    assert "there is no message" in postfinch("mail", "show", row["id"], code=1)
    filters = ("--to", "lea@command.test")
    postfinch("mail", "delete", *filters, code=1, data=b"n\n")
    assert len(postfinch.json("mail", "list", *filters)) == 1
    assert postfinch.json("mail", "delete", *filters, "--yes") == {"deleted": 1}
    assert "say which messages" in postfinch("mail", "delete", code=2)


def test_open_shows_the_page_of_the_console(postfinch: Command) -> None:
    postfinch(*SEND, "--to", "mia@command.test", "--text", "x", "--wait")
    (row,) = postfinch.json("mail", "list", "--to", "mia@command.test")
    postfinch.environment["BROWSER"] = "true"  # a program that does nothing
    assert f"/console/#/mailbox/{row['id']}" in postfinch("mail", "open", row["id"])


def test_tail_shows_the_events_and_the_message_of_a_recipient(postfinch: Command) -> None:
    arguments = ("tail", "--to", "Nia@command.test", "--events", "delivery,message", "--json")
    process = subprocess.Popen(
        [*postfinch.line, *arguments],
        cwd=ROOT,
        env=postfinch.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stderr
    try:
        assert process.stderr.readline().startswith("following http://127.0.0.1:")
        for name in ("other", "nia"):
            postfinch(*SEND, "--to", f"{name}@command.test", "--text", "x", "--wait")
        items = [json.loads(process.stdout.readline()) for _ in range(2)]
    finally:
        process.kill()
        process.communicate()
    assert {item["type"] for item in items} == {"delivery", "message"}
    assert {item["rcpt_to"] for item in items} == {"nia@command.test"}
    assert {item["subject"] for item in items} == {"Hello"}


def test_doctor_finds_nothing_wrong_with_a_service_that_runs(
    postfinch: Command, service: Service
) -> None:
    del postfinch.environment["POSTFINCH_URL"]
    postfinch.environment["DATA_DIR"] = str(service.data_dir)
    results = {each["check"]: each for each in postfinch.json("doctor")}
    smtp = results[f"SMTP port {service.smtp_port}"]
    assert (smtp["status"], smtp["detail"]) == ("ok", "answers with STARTTLS")
    assert "Disk" in results
    assert "Account" in results
