"""Test the newsletter: who bounces gets no other issue, and clicks are counted."""

import pytest
from fastapi.testclient import TestClient
from fastapi_newsletter import app


@pytest.fixture
def newsletter(postfinch):
    """The newsletter with two readers, which sends by the account of this test."""
    app.state.api_url, app.state.api_key = postfinch.api_url, postfinch.api_key
    app.state.readers = {"ann@inbox.test", "gone@inbox.test"}
    return TestClient(app)


def test_a_reader_whose_mail_bounces_gets_no_other_issue(newsletter, postfinch):
    postfinch.fail("gone@*", code=550, text="5.1.1 no such user")
    webhooks = postfinch.webhooks
    newsletter.post("/issues", json={"title": "First", "text": "Hello"})
    bounce = webhooks.wait_for(type="bounce", to="gone@inbox.test")
    newsletter.post("/events", json=[{"svc": {"message_event": bounce}}])
    newsletter.post("/issues", json={"title": "Second", "text": "Hello again"})
    postfinch.mailbox.wait_for(to="ann@inbox.test", subject="Second")
    assert app.state.readers == {"ann@inbox.test"}


def test_a_click_is_an_event(newsletter, postfinch):
    newsletter.post("/issues", json={"title": "Third", "text": "Hello"})
    message = postfinch.mailbox.wait_for(to="ann@inbox.test", subject="Third")
    message.open()
    message.click("Read")
    assert message.wait_for_event("click")["target_link_url"] == "https://news.example/read"
