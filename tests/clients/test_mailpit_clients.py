"""Read caught mail with client libraries of others that were made for Mailpit."""

from __future__ import annotations

import json
import os
import subprocess
from email.message import EmailMessage
from pathlib import Path

import pytest
from mailpit.client.api import API
from mailpit.testing.unittest import EMailTestCase

from tests.clients.mailpit_service import Mailpit, Outside
from tests.clients.programs import require, run


def _run(mailpit: Mailpit, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return run(*command, env=os.environ | {"MAILPIT_URL": mailpit.url}, folder=folder)


def test_the_calls_of_the_tests_of_mailpit_api_are_answered_field_for_field(
    mailpit: Mailpit, node_programs: Path, outside: tuple[Outside, int]
) -> None:
    require("node", "nodejs")
    process = _run(mailpit, "node", "mailpit_api.mjs", folder=node_programs)
    assert process.stdout == "every answer is as expected\n", process.stderr
    # One release by each version of the library
    envelopes = [each for each in outside[0].envelopes if each.rcpt_tos == ["user1@example.test"]]
    assert len(envelopes) == 2


def test_the_commands_of_cypress_mailpit_work(mailpit: Mailpit, node_programs: Path) -> None:
    require("node", "nodejs")
    process = _run(mailpit, "node", "cypress_mailpit.mjs", folder=node_programs)
    assert process.stdout == "every command works\n", process.stderr


def test_the_calls_of_php_clients_are_answered(
    mailpit: Mailpit, outside: tuple[Outside, int]
) -> None:
    require("php", "php-cli")
    mailpit.send("First", "ann@example.test", html="<p>Hello</p>")
    mailpit.send("Second", "bo@example.test", "ann@example.test")
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "app@shop.test", "ann@example.test", "File"
    message.set_content("See the file")
    message.add_attachment("kept\n", filename="notes.txt")
    mailpit.deliver(message)
    process = _run(mailpit, "php", "mailpit_php/client.php", folder=Path(__file__).parent)
    assert process.returncode == 0, process.stdout + process.stderr
    result = json.loads(process.stdout)
    assert [each["Subject"] for each in result["messages"]] == ["File", "Second", "First"]
    assert result["messages"][0]["AttachmentsData"] == {"2": "kept\r\n"}
    assert result["messages"][0]["Headers"]["Subject"] == ["File"]
    assert result["messages"][2]["HTML"] == "<p>Hello</p>\r\n"
    assert result["inbox"] == ["Second"]
    assert (result["missing"], result["released"]) == (404, 200)
    assert (result["left"], result["end"]) == (2, 0)
    assert outside[0].envelopes[-1].rcpt_tos == ["ann@example.test"]


@pytest.fixture
def python_client(mailpit: Mailpit) -> API:
    return API(mailpit.url)


def test_the_python_client_lists_reads_and_deletes(mailpit: Mailpit, python_client: API) -> None:
    assert python_client.get_messages().messages == []
    message = EmailMessage()
    message["From"] = "Sender Smith <sender@example.com>"
    message["To"] = "Recipient Ross <recipient@example.com>"
    message["Delivered-To"], message["Date"] = (
        "recipient@example.com",
        "Wed, 27 Jul 2022 15:44:41 +1200",
    )
    message["Message-ID"], message["Subject"] = "<20220727034441.7z@localhost>", "Plain text"
    message.set_content("Test\n")
    content = b"This is a test attachment\n"
    message.add_attachment(content, "text", "plain", filename="attachment.txt")
    mailpit.deliver(message)
    messages = python_client.get_messages()
    (row,) = messages.messages
    assert (messages.total, messages.count, messages.unread, messages.start) == (1, 1, 1, 0)
    assert (row.message_id, row.read) == ("20220727034441.7z@localhost", False)
    assert (row.cc, row.bcc, row.attachments) == ([], [], 1)
    assert (row.to[0].name, row.to[0].address) == ("Recipient Ross", "recipient@example.com")
    headers = python_client.get_message_headers(row.id)
    assert headers.delivered_to == ["recipient@example.com"]
    assert headers.date[0].isoformat() == "2022-07-27T15:44:41+12:00"
    assert python_client.get_message_attachment(row.id, "2") == "This is a test attachment\n"
    # It sends a form, which Mailpit takes for a request without ids: all messages
    python_client.delete_messages([row.id])
    assert python_client.get_messages().total == 0


def test_the_assertion_of_the_python_client_finds_what_was_sent(mailpit: Mailpit) -> None:
    class Case(EMailTestCase):
        api_url = mailpit.url

        def runTest(self) -> None:
            self.assertMessageReceived("42@shop.test")
            with pytest.raises(AssertionError):
                self.assertMessageReceived("43@shop.test")

    message = EmailMessage()
    message["From"], message["To"] = "app@shop.test", "ann@example.test"
    message["Message-ID"] = "<42@shop.test>"
    message.set_content("Hello")
    mailpit.deliver(message)
    Case.setUpClass()
    Case().debug()
