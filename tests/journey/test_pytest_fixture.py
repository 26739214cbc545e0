"""Use the fixture as the tests of a program that sends mail do."""

from __future__ import annotations

import smtplib
from email.message import EmailMessage
from pathlib import Path

import pytest

from postfinch.http_api import Api, ApiError
from postfinch.local_service import LocalService
from postfinch.pytest_plugin import _running
from postfinch.testing import Attachment, NeverHappened, TestAccount
from postfinch.testing.domains import provide
from postfinch.testing.test_account import BadKey
from tests.journey.service import eventually


def test_a_message_is_read_with_all_that_it_has(postfinch: TestAccount, tmp_path: Path) -> None:
    invoice = tmp_path / "invoice.pdf"
    invoice.write_bytes(b"%PDF-1.7 not really")
    postfinch.send(
        to="ann@shop.test",
        subject="Order {{ number }}",
        text="Thank you, {{ name }}.",
        html='<p>Thank you, {{ name }}. <a href="https://shop.test/o/7">Your order</a></p>',
        data={"name": "Ann", "number": 7},
        attachments=[invoice],
    )
    message = postfinch.mailbox.wait_for(to="ann@*", subject="Order *")
    assert message.subject == "Order 7"
    assert message.to == "ann@shop.test"
    assert message.sender == "sender@example.test"
    assert message.text.strip() == "Thank you, Ann."
    assert "Thank you, Ann." in message.html
    assert message.headers["To"] == "ann@shop.test"
    assert message.source.startswith(b"DKIM-Signature") or b"DKIM-Signature:" in message.source
    (link,) = message.links
    assert (link.target, link.text, link.tracked) == ("https://shop.test/o/7", "Your order", True)
    (attachment,) = message.attachments
    assert (attachment.name, attachment.type) == ("invoice.pdf", "application/pdf")
    assert attachment.content == invoice.read_bytes()


def test_files_are_attached_by_their_path_or_content(
    postfinch: TestAccount, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("A")
    content = Attachment("b.bin", "application/x-b", b"\x00B")
    postfinch.send(
        to="ann@shop.test", subject="S", text="T", attachments=[str(tmp_path / "a.txt"), content]
    )
    message = postfinch.mailbox.wait_for(to="ann@shop.test")
    first, second = message.attachments
    assert (first.name, first.type, first.content.strip()) == ("a.txt", "text/plain", b"A")
    assert second == content
    assert message.headers["SUBJECT"] == message.headers["subject"] == "S"
    assert message.headers.getlist("from") == ["sender@example.test"]
    with pytest.raises(TypeError, match="an attachment is a path or an Attachment"):
        postfinch.send(to="ann@shop.test", text="T", attachments=[("c", b"C")])  # type: ignore[list-item]


def test_what_cannot_be_is_an_error_at_once(postfinch: TestAccount) -> None:
    with pytest.raises(TypeError, match="no clik_tracking; options are click_tracking, "):
        postfinch.send(to="ann@shop.test", subject="S", text="T", clik_tracking=False)
    with pytest.raises(ValueError, match=r"no events of type 'bounced'; there are .*bounce, "):
        postfinch.webhooks.wait_for(type="bounced")
    with pytest.raises(NeverHappened, match="use it before the mail is sent"):
        postfinch.webhooks.wait_for(type="bounce", timeout=0.1)
    with pytest.raises(NeverHappened) as error:
        postfinch.webhooks.wait_for(type="bounce", timeout=0.1)
    assert "first used" not in str(error.value)


def test_a_service_of_this_user_needs_nothing_but_its_address(
    postfinch_service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(Path(postfinch_service.authority).parents[1]))
    for name in ("POSTFINCH_API_KEY", "POSTFINCH_SMTP_HOST", "POSTFINCH_SMTP_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert _running(postfinch_service.api_url) == postfinch_service
    monkeypatch.setenv("POSTFINCH_SMTP_PORT", "2526")
    monkeypatch.setenv("POSTFINCH_API_KEY", "wrong")
    service = _running(postfinch_service.api_url)
    assert (service.smtp_port, service.authority) == (2526, postfinch_service.authority)
    with pytest.raises(BadKey, match="refuses its API key: set POSTFINCH_API_KEY"):
        TestAccount(service)
    other = _running("http://mail.example:8080")
    assert (other.smtp_host, other.smtp_port, other.authority) == ("mail.example", 2526, "")


def test_a_recipient_opens_clicks_and_complains(postfinch: TestAccount) -> None:
    postfinch.send(to="bob@shop.test", html='<a href="https://shop.test/">Shop</a>', subject="Hi")
    message = postfinch.mailbox.wait_for(to="bob@shop.test")
    message.wait_for_event("delivery")
    message.open()
    message.click("Shop")
    message.complain()
    assert message.wait_for_event("click")["target_link_url"] == "https://shop.test/"
    for type in ("open", "spam_complaint"):
        assert message.wait_for_event(type)["rcpt_to"] == "bob@shop.test"
    assert [event["type"] for event in message.events][:2] == ["injection", "delivery"]


def test_a_recipient_unsubscribes_and_another_message_bounces_later(postfinch: TestAccount) -> None:
    postfinch.send(to=["eve@shop.test", "dan@shop.test"], text="News", subject="News")
    postfinch.mailbox.wait_for(to="eve@shop.test").unsubscribe()
    later = postfinch.mailbox.wait_for(to="dan@shop.test")
    later.bounce()
    assert later.wait_for_event("out_of_band")
    eve = postfinch.mailbox.wait_for(to="eve@shop.test")
    assert eve.wait_for_event("list_unsubscribe")


def test_mail_by_smtp_is_in_the_mailbox_of_its_account(postfinch: TestAccount) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "app@example.test", "smtp@shop.test"
    message["Subject"] = "By SMTP"
    message.set_content("Hello")
    with smtplib.SMTP(postfinch.smtp.host, postfinch.smtp.port) as client:
        client.starttls()
        client.login(postfinch.smtp.user, postfinch.smtp.password)
        client.send_message(message)
    assert postfinch.mailbox.wait_for(to="smtp@shop.test").text.strip() == "Hello"


def test_failures_on_purpose_come_as_webhooks(postfinch: TestAccount) -> None:
    events = postfinch.webhooks
    postfinch.fail("gone@*", code=550, text="5.1.1 nobody here")
    postfinch.send(to=["gone@shop.test", "here@shop.test"], text="Hello", subject="Hello")
    bounce = events.wait_for(type="bounce")
    assert bounce["rcpt_to"] == "gone@shop.test"
    assert "5.1.1 nobody here" in bounce["raw_reason"]
    assert events.wait_for(type="delivery", to="here@shop.test")
    assert events.bad_signatures == 0
    assert [message.to for message in postfinch.mailbox] == ["here@shop.test"]


def test_each_test_has_an_account_of_its_own(
    postfinch: TestAccount, postfinch_service: LocalService
) -> None:
    other = TestAccount(postfinch_service)
    other.send(to="other@shop.test", text="Hello", subject="Of the other")
    assert other.mailbox.wait_for(to="other@shop.test")
    assert len(postfinch.mailbox) == 0
    assert other.api_key != postfinch.api_key
    other.mailbox.clear()
    assert len(other.mailbox) == 0
    other.close()


def test_a_wait_that_fails_tells_what_there_was_instead(postfinch: TestAccount) -> None:
    with pytest.raises(NeverHappened, match="no mail at all"):
        postfinch.mailbox.wait_for(to="nobody@shop.test", timeout=0.1)
    postfinch.send(to="somebody@shop.test", text="Hello", subject="For somebody")
    message = postfinch.mailbox.wait_for()
    with pytest.raises(NeverHappened, match=r"<Message to somebody@shop.test: 'For somebody'>"):
        postfinch.mailbox.wait_for(to="nobody@shop.test", timeout=0.1)
    events = postfinch.webhooks  # it is told what happens from now on
    postfinch.fail("unknown@*", code=550, text="5.1.1 nobody here")
    postfinch.send(to="unknown@shop.test", text="Hello", subject="For nobody")
    events.wait_for(type="bounce")
    with pytest.raises(NeverHappened, match=r"bounce of mail to unknown@shop.test: 550 5.1.1 nob"):
        postfinch.mailbox.wait_for(to="unknown@*", timeout=0.1)
    message.wait_for_event("delivery")
    with pytest.raises(NeverHappened, match=r"no event 'click' .* but injection, delivery"):
        message.wait_for_event("click", timeout=0.1)
    with pytest.raises(AssertionError, match="no link 'Buy'; its links: none"):
        message.click("Buy")
    with pytest.raises(NeverHappened, match="no webhook with 'open'"):
        postfinch.webhooks.wait_for(type="open", timeout=0.1)


def test_a_program_may_send_from_its_own_domain(
    postfinch: TestAccount, postfinch_service: LocalService
) -> None:
    with pytest.raises(ApiError, match="Unconfigured Sending Domain"):
        postfinch.send(to="a@shop.test", text="Hello", subject="Hi", from_="app@own-shop.test")
    provide(postfinch_service, ["own-shop.test"])
    provide(postfinch_service, ["own-shop.test"])  # as each process of a run does
    postfinch.send(to="a@shop.test", text="Hello", subject="Hi", from_="app@own-shop.test")
    assert postfinch.mailbox.wait_for(to="a@shop.test").sender == "app@own-shop.test"


def test_the_accounts_key_is_its_own(postfinch: TestAccount) -> None:
    Api(postfinch.api_url, postfinch.api_key).get("/transmissions")
    with pytest.raises(ApiError) as refusal:
        Api(postfinch.api_url, postfinch.api_key).get("/templates")
    assert refusal.value.status == 403


def test_mail_comes_in_and_is_posted_to_the_test(postfinch: TestAccount) -> None:
    webhook = postfinch.relay_webhook()
    file = Attachment("a.csv", "text/csv", b"1,2")
    received = postfinch.receive(
        to=f"Help+7@{webhook.domain}",
        from_="ann@customer.test",
        subject="Broken lamp",
        text="It is dark.",
        html="<p>It is dark.</p>",
        attachments=[file],
        headers={"X-Order": "17"},
    )
    payload = received.payload
    assert (payload["relay_id"], payload["tag"]) == (received.id, "7")
    assert payload["content"]["html"].strip() == "<p>It is dark.</p>"
    assert {"X-Order": "17"} in payload["content"]["headers"]
    assert [each["name"] for each in payload["attachments"]] == ["a.csv"]
    assert received.headers["x-svc-batch-id"] == received.id
    assert webhook.bad_signatures == 0
    assert received.read()["msg_from"] == "ann@customer.test"
    assert received.wait_for_event("relay_delivery")["webhook_id"] == payload["webhook_id"]
    assert postfinch.relay_webhook(webhook.domain) is webhook


def test_a_whole_message_comes_in_without_a_relay_webhook(postfinch: TestAccount) -> None:
    domain = postfinch.api.post("/inbound-domains", {"domain": "fixture-stored.test"})["domain"]
    source = f"From: ann@customer.test\nTo: x@elsewhere.test, a@{domain}\n\nHello".encode()
    received = postfinch.receive(source)
    assert (received.to, received.post) == (f"a@{domain}", None)
    assert received.read()["action"] == "store"
    with pytest.raises(AssertionError, match=r"call postfinch.relay_webhook\(\) before"):
        _ = received.payload
    with pytest.raises(AssertionError, match=r"call postfinch.relay_webhook\('nobody.test'\)"):
        postfinch.receive(to="a@nobody.test", text="Hello")
    with pytest.raises(TypeError, match="a whole message has its own subject"):
        postfinch.receive(source, subject="S")
    postfinch.api.delete(f"/inbound-domains/{domain}")


def test_an_answer_names_the_message_that_it_answers(postfinch: TestAccount) -> None:
    webhook = postfinch.relay_webhook()
    transmission_id = postfinch.send(
        to="ann@shop.test", subject="Your lamp", text="Well?", reply_domain=webhook.domain
    )
    message = postfinch.mailbox.wait_for(to="ann@shop.test")
    received = postfinch.receive(in_reply_to=message, text="It shines.")
    assert received.payload["in_reply_to"]["transmission_id"] == transmission_id
    assert received.payload["content"]["subject"] == "Re: Your lamp"
    assert received.payload["friendly_from"] == "ann@shop.test"
    message.reply("It shines again.")
    with pytest.raises(NeverHappened, match=r"'Re: Your lamp' to r\."):
        webhook.wait_for(to="nobody@*", timeout=0.1)

    def texts() -> set[str]:
        return {post.payload["reply_text"].strip() for post in webhook}

    eventually(lambda: texts() == {"It shines.", "It shines again."})
