"""Test the ticket system: mail opens a ticket, and an answer to its answer is added to it."""

import pytest
from fastapi.testclient import TestClient
from ticket_system import app


@pytest.fixture
def support(postfinch):
    """The inbound domain of the ticket system, which sends by the account of this test."""
    webhook = postfinch.relay_webhook()
    app.state.api_url, app.state.api_key = postfinch.api_url, postfinch.api_key
    app.state.reply_domain = webhook.domain
    app.state.tickets = {}
    return webhook


def take(post):
    """Hand what was posted to the ticket system, as Postfinch does it."""
    answer = TestClient(app).post("/mail", content=post.body, headers=post.headers)
    assert answer.status_code == 200


def test_an_answer_by_mail_is_added_to_its_ticket(support, postfinch):
    take(
        postfinch.receive(
            to=f"support@{support.domain}",
            from_="ann@inbox.test",
            subject="Broken lamp",
            text="It does not shine.",
        ).post
    )
    message = postfinch.mailbox.wait_for(to="ann@inbox.test", subject="Re: Broken lamp")
    message.reply("Thank you, it was the bulb.")
    take(support.wait_for(from_="ann@inbox.test", subject="Re: Broken lamp"))
    (ticket,) = app.state.tickets.values()
    assert ticket["messages"][0].strip() == "It does not shine."
    assert ticket["messages"][1].strip() == "Thank you, it was the bulb."


def test_the_sender_of_a_message_is_shown_with_its_verdicts(support, postfinch):
    received = postfinch.receive(to=f"support@{support.domain}", subject="Hi", text="Hello")
    assert received.payload["verdicts"]["dmarc"]["result"] == "none"
    assert received.wait_for_event("relay_delivery")
