"""Make the calls of container modules and extensions for Mailpit: Testcontainers and Quarkus.

They are Java; what they send, and what they wait for, is taken from their sources:
``martinellich/testcontainers-mailpit`` and ``quarkiverse/quarkus-mailpit``.
"""

from __future__ import annotations

import smtplib
from urllib.parse import quote

import pytest

from tests.clients.mailpit_service import Mailpit

# What Java's HttpClient adds to a request in the clear: it offers HTTP/2
JAVA = {
    "Connection": "Upgrade, HTTP2-Settings",
    "Upgrade": "h2c",
    "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    "User-Agent": "Java-http-client/17.0.15",
}


@pytest.mark.parametrize("path", ["/", "/livez", "/readyz", "/api/v1/info"])
def test_the_paths_that_modules_wait_for_answer(mailpit: Mailpit, path: str) -> None:
    assert mailpit.request("GET", path, headers=JAVA).status == 200


def test_the_calls_of_the_java_client_are_answered(mailpit: Mailpit) -> None:
    mailpit.send("Group Email", "alice@example.com", "bob@example.com", text="For the group")
    mailpit.send("HTML Test", "alice@example.com", html="<html><body><h1>Hello</h1></body></html>")
    page, group = mailpit.messages()
    assert [each["Address"] for each in group["To"]] == ["alice@example.com", "bob@example.com"]
    message = mailpit.request("GET", f"/api/v1/message/{page['ID']}", headers=JAVA)
    assert message.json["Subject"] == "HTML Test"
    assert b"<h1>Hello</h1>" in mailpit.request("GET", f"/view/{page['ID']}.html").body
    assert mailpit.request("GET", f"/view/{group['ID']}.html").status == 404
    assert b"For the group" in mailpit.request("GET", f"/view/{group['ID']}.txt").body
    source = mailpit.request("GET", f"/api/v1/message/{group['ID']}/raw").body
    assert b"To: alice@example.com, bob@example.com" in source
    assert mailpit.request("GET", "/api/v1/message/nonexistent-id").status == 404
    # The client writes `ids`, which Mailpit reads as `IDs`
    json_of_java = {**JAVA, "Content-Type": "application/json"}
    body = {"ids": [page["ID"]]}
    assert mailpit.request("DELETE", "/api/v1/messages", body, json_of_java).status == 200
    assert [each["ID"] for each in mailpit.messages()] == [group["ID"]]
    assert mailpit.request("DELETE", "/api/v1/messages", headers=JAVA).status == 200
    assert mailpit.messages() == []


def _mailbox(mailpit: Mailpit, query: str, limit: int = 1) -> list[dict[str, object]]:
    """Return what ``Mailbox.find`` of Quarkus does: each message that a search finds."""
    path = f"/api/v1/search?query={quote(query)}&start=0&limit={limit}"
    return [
        mailpit.request("GET", f"/api/v1/message/{row['ID']}", headers=JAVA).json
        for row in mailpit.messages(path)
    ]


def test_the_mailbox_of_quarkus_finds_messages_with_the_exact_text(mailpit: Mailpit) -> None:
    mailpit.send(
        "WARNING: Super Villain Alert",
        "superheroes@quarkus.io",
        sender="admin@hallofjustice.net",
        text="Lex Luthor has been seen in Metropolis!\r\n",
    )
    for number in range(3):
        mailpit.send(f"Spam {number}", "quarkus@quarkus.io", sender="spam@quarkus.io")
    (message,) = _mailbox(mailpit, "admin@hallofjustice.net")
    assert message["Text"] == "Lex Luthor has been seen in Metropolis!\r\n"
    assert len(_mailbox(mailpit, 'from:"spam"', limit=600)) == 3
    body = {"ids": [message["ID"]]}
    assert mailpit.request("DELETE", "/api/v1/messages", body, JAVA).body == b"ok"
    assert _mailbox(mailpit, "admin@hallofjustice.net") == []


@pytest.mark.parametrize(
    ("trigger", "code", "text"),
    [("Sender", 451, "Chaos sender error"), ("Recipient", 550, "Chaos recipient error")],
)
def test_chaos_that_quarkus_sets_refuses_mail(
    mailpit: Mailpit, trigger: str, code: int, text: str
) -> None:
    calm = {"ErrorCode": 451, "Probability": 0}
    triggers = dict.fromkeys(("Authentication", "Sender", "Recipient"), calm)
    fault = {**triggers, trigger: {"ErrorCode": code, "Probability": 100}}
    assert mailpit.request("PUT", "/api/v1/chaos", fault, JAVA).json == fault
    try:
        with smtplib.SMTP("localhost", mailpit.smtp_port, timeout=60) as connection:
            connection.ehlo()
            replies = [connection.mail("app@shop.test"), connection.rcpt("ann@shop.test")]
    finally:
        assert mailpit.request("PUT", "/api/v1/chaos", triggers, JAVA).json == triggers
    status, reply = replies[1] if trigger == "Recipient" else replies[0]
    assert (status, text in reply.decode()) == (code, True)
    mailpit.send("It works again", "ann@shop.test")
