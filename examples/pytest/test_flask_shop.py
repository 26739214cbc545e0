"""Test the shop: its mail arrives, and the link in it works."""

import re

import pytest
from flask_shop import app


@pytest.fixture
def shop(postfinch):
    """The shop, which sends by the account of this test."""
    smtp = postfinch.smtp
    app.config.update(
        SMTP_HOST=smtp.host,
        SMTP_PORT=smtp.port,
        SMTP_USER=smtp.user,
        SMTP_PASSWORD=smtp.password,
        SMTP_AUTHORITY=smtp.authority,
    )
    return app.test_client()


def test_a_customer_confirms_the_address(shop, postfinch):
    assert shop.post("/customers", data={"email": "ann@inbox.test"}).status_code == 202
    message = postfinch.mailbox.wait_for(to="ann@inbox.test", subject="Confirm*")
    path = re.search(r"http://localhost(/confirm/\w+)", message.text)[1]
    assert shop.get(path).json == {"confirmed": "ann@inbox.test"}


def test_nobody_else_gets_mail(shop, postfinch):
    shop.post("/customers", data={"email": "bob@inbox.test"})
    postfinch.mailbox.wait_for(to="bob@inbox.test")
    assert len(postfinch.mailbox) == 1
