"""Send transmissions with every kind of content, option, recipient and schedule."""

from __future__ import annotations

import base64
import email
import email.policy
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any

import pytest

from tests.journey.service import Service, eventually

TRANSMISSIONS = "/api/v1/transmissions"
INLINE = {"from": "hello@example.test", "subject": "s", "text": "t"}


def post(service: Service, to: Any, content: Any = None, **fields: Any) -> Any:
    body = {"recipients": to, "content": content or INLINE} | fields
    return service.request("POST", TRANSMISSIONS, body)


def to(*addresses: str) -> list[dict[str, Any]]:
    return [{"address": address} for address in addresses]


def accepted(response: Any) -> str:
    assert response.status == 200, response.body
    return response.json["results"]["id"]


def message(service: Service, recipient: str) -> EmailMessage:
    (raw,) = service.arrived(recipient)
    return email.message_from_bytes(raw, policy=email.policy.default)


def at(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def code(response: Any) -> tuple[int, str]:
    return response.status, response.json["errors"][0]["code"]


@pytest.mark.spec("2.2-t8")
@pytest.mark.spec("2.2-t9")
def test_attachments_and_inline_images_arrive_unchanged(service: Service) -> None:
    data = bytes(range(256)) * 20
    file = {"name": "Überblick 2026.pdf", "type": "application/pdf"}
    content = INLINE | {
        "html": '<img src="cid:logo">',
        "attachments": [file | {"data": base64.b64encode(data).decode()}],
        "inline_images": [{"name": "logo", "type": "image/png", "data": "iVBORw0KGgo="}],
    }
    accepted(post(service, to("files@inbox.test"), content))
    arrived = message(service, "files@inbox.test")
    assert arrived.get_content_type() == "multipart/mixed"
    (attachment,) = arrived.iter_attachments()
    assert attachment.get_filename() == "Überblick 2026.pdf"
    assert attachment.get_content() == data
    image = next(part for part in arrived.walk() if part["Content-ID"])
    assert image["Content-ID"] == "<logo>"


@pytest.mark.spec("2.2-t9")
def test_the_html_refers_to_an_image_with_a_name_beyond_ascii(service: Service) -> None:
    content = INLINE | {
        "html": '<html><head><style>p{color:red}</style></head><p><img src="cid:Größe 日本.png">',
        "inline_images": [{"name": "Größe 日本.png", "type": "image/png", "data": "iVBORw0KGgo="}],
    }
    for address, options in (("cid@inbox.test", {}), ("cid-css@inbox.test", {"inline_css": True})):
        accepted(post(service, to(address), content, options=options))
        arrived = message(service, address)
        html = arrived.get_body(("html",))
        assert html is not None
        image = next(part for part in arrived.walk() if part["Content-ID"])
        assert f'<img src="cid:{image["Content-ID"][1:-1]}"' in html.get_content()


@pytest.mark.spec("2.2-r1")
def test_a_pre_built_message_gets_substitution_data_and_stays_otherwise_unchanged(
    service: Service,
) -> None:
    raw = (
        "From: hello@example.test\nSubject: Hi {{name}}\nX-Note: {{name}}\n"
        "Content-Type: text/plain; charset=utf-8\n\nDear {{name}},\nbye\n"
    )
    recipient = [{"address": "raw@inbox.test", "substitution_data": {"name": "Zoë"}}]
    accepted(post(service, recipient, {"email_rfc822": raw}))
    arrived = message(service, "raw@inbox.test")
    assert arrived["Subject"] == "Hi Zoë"
    assert arrived["X-Note"] == "Zoë"
    assert arrived.get_content().splitlines() == ["Dear Zoë,", "bye"]


def test_the_bcc_of_a_pre_built_message_is_sent_to_nobody(service: Service) -> None:
    raw = "From: hello@example.test\nBCC: hidden@inbox.test\nSubject: s\n\nHello\n"
    accepted(post(service, to("shown@inbox.test"), {"email_rfc822": raw}))
    assert b"hidden@inbox.test" not in service.arrived("shown@inbox.test")[0]
    assert not service.mailbox(to="hidden@inbox.test")


@pytest.mark.spec("2.2-r5")
@pytest.mark.parametrize("raw", ["no header at all", "From: a@example.test\n\nx\n.\nmore\n"])
def test_an_invalid_pre_built_message_is_refused(service: Service, raw: str) -> None:
    assert code(post(service, to("x@inbox.test"), {"email_rfc822": raw})) == (422, "3020")


def test_cc_and_bcc_see_the_primary_recipient(service: Service) -> None:
    recipients = [
        {"address": "cc-to@inbox.test"},
        {"address": {"email": "cc-cc@inbox.test", "header_to": "cc-to@inbox.test"}},
        {"address": {"email": "cc-bcc@inbox.test", "header_to": "cc-to@inbox.test"}},
    ]
    content = INLINE | {"headers": {"CC": "cc-cc@inbox.test"}}
    accepted(post(service, recipients, content))
    for address in ("cc-to@inbox.test", "cc-cc@inbox.test", "cc-bcc@inbox.test"):
        arrived = message(service, address)
        assert arrived["To"] == "cc-to@inbox.test"
        assert arrived["CC"] == "cc-cc@inbox.test"


@pytest.mark.spec("2.1-t2")
def test_override_replaces_from_reply_to_and_names_the_list(service: Service) -> None:
    content = INLINE | {"from": {"email": "hello@example.test", "name": "Ann"}}
    override = {"from": "other@example.test", "reply_to": "r@x.test", "list_id": "news.example"}
    accepted(post(service, to("override@inbox.test"), content, override=override))
    arrived = message(service, "override@inbox.test")
    assert arrived["From"] == "Ann <other@example.test>"
    assert arrived["Reply-To"] == "r@x.test"
    assert arrived["List-Id"] == "<news.example>"


@pytest.mark.spec("2.1-t16")
def test_style_sheets_are_inlined_on_request(service: Service) -> None:
    html = "<html><head><style>p{color:red}</style></head><body><p>x</p></body></html>"
    content = INLINE | {"html": html}
    accepted(post(service, to("css@inbox.test"), content, options={"inline_css": True}))
    body = message(service, "css@inbox.test").get_body(("html",))
    assert body is not None
    assert '<p style="color:red' in body.get_content().replace(" ;", ";").replace(": ", ":")


def test_bodies_are_verbatim_without_substitutions(service: Service) -> None:
    content = INLINE | {"subject": "{{x}}", "text": "{{x}} {{ not a template"}
    options = {"perform_substitutions": False}
    accepted(
        post(service, to("verb@inbox.test"), content, options=options, substitution_data={"x": "1"})
    )
    arrived = message(service, "verb@inbox.test")
    assert arrived["Subject"] == "1"
    assert arrived.get_content().strip() == "{{x}} {{ not a template"


def test_a_pre_built_body_is_verbatim_without_substitutions(service: Service) -> None:
    raw = "From: hello@example.test\nSubject: {{x}}\n\n{{x}} {{ not a template\n..two dots\n"
    options = {"perform_substitutions": False}
    recipients = to("verb-raw@inbox.test")
    content = {"email_rfc822": raw}
    accepted(post(service, recipients, content, options=options, substitution_data={"x": "1"}))
    arrived = message(service, "verb-raw@inbox.test")
    assert arrived["Subject"] == "1"
    assert arrived.get_content().splitlines() == ["{{x}} {{ not a template", "..two dots"]


def test_inline_content_may_be_almost_as_large_as_a_message(service: Service) -> None:
    paragraph = f"<p>{'x' * 60}</p>"
    lines = f"{paragraph}\n" * 200_000
    html = f'<p>{{{{name}}}}</p>{lines}<a href="https://large.example/">x</a>'
    content = INLINE | {"html": html}
    data = {"name": "Zoë"}
    accepted(post(service, to("large@inbox.test"), content, substitution_data=data))
    body = message(service, "large@inbox.test").get_body(("html",))
    assert body is not None
    text = body.get_content()
    assert "<p>Zoë</p>" in text[:500]
    assert text.count(paragraph) == 200_000
    assert "https://large.example/" not in text[-2000:]


def test_a_render_fault_fails_one_recipient_and_not_the_others(service: Service) -> None:
    content = INLINE | {"text": "{{if n > 1}}many{{end}}"}
    recipients = [
        {"address": "fault@inbox.test"},
        {"address": "no-fault@inbox.test", "substitution_data": {"n": 2}},
    ]
    transmission_id = accepted(post(service, recipients, content))
    service.arrived("no-fault@inbox.test")
    eventually(lambda: service.event_types("fault@inbox.test") == ["generation_failure"])
    failure = service.events(recipients="fault@inbox.test")[0]
    assert failure["error_code"] == "554"
    assert "part text" in failure["reason"]

    def counts() -> tuple[int, int, str]:
        path = f"{TRANSMISSIONS}/{transmission_id}"
        transmission = service.request("GET", path).json["results"]["transmission"]
        return transmission["num_generated"], transmission["num_failed_gen"], transmission["state"]

    # They follow the events
    eventually(lambda: counts() == (1, 1, "Success"))


@pytest.mark.spec("4.1-r3")
@pytest.mark.spec("4.1-r5")
def test_a_repeated_idempotency_key_replays_the_response_and_sends_once(service: Service) -> None:
    body = {"recipients": to("idem@inbox.test"), "content": INLINE}
    headers = {"Idempotency-Key": "journey-1"}
    first = service.request("POST", TRANSMISSIONS, body, headers=headers)
    again = service.request("POST", TRANSMISSIONS, body, headers=headers)
    assert again.json == first.json
    assert again.headers["x-idempotent-replayed"] == "true"
    other = service.request("POST", TRANSMISSIONS, body | {"campaign_id": "x"}, headers=headers)
    assert code(other) == (409, "1600")
    service.arrived("idem@inbox.test")
    assert len(service.mailbox(to="idem@inbox.test")) == 1


@pytest.mark.spec("4.1-r4")
def test_of_fifty_parallel_requests_with_one_idempotency_key_one_sends(service: Service) -> None:
    body = {"recipients": to("race@inbox.test"), "content": INLINE}

    def send(_: int) -> Any:
        return service.request("POST", TRANSMISSIONS, body, headers={"Idempotency-Key": "race"})

    with ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(send, range(50)))
    assert {response.status for response in responses} <= {200, 409}
    fresh = [a for a in responses if a.status == 200 and "x-idempotent-replayed" not in a.headers]
    assert len(fresh) == 1
    assert len({a.json["results"]["id"] for a in responses if a.status == 200}) == 1
    assert {code(a)[1] for a in responses if a.status == 409} <= {"1601"}
    service.arrived("race@inbox.test")
    assert len(service.mailbox(to="race@inbox.test")) == 1


@pytest.mark.spec("4.1-r1")
@pytest.mark.parametrize("key", ["", "with blank", "x" * 256, "ümlaut"])
def test_a_malformed_idempotency_key_is_refused(service: Service, key: str) -> None:
    body = {"recipients": to("x@inbox.test"), "content": INLINE}
    headers = {"Idempotency-Key": key.encode("utf-8").decode("latin-1")}
    response = service.request("POST", TRANSMISSIONS, body, headers=headers)
    assert code(response) == (400, "1602")


@pytest.mark.spec("3-t9")
def test_a_scheduled_transmission_starts_at_its_time(service: Service) -> None:
    options = {"start_time": at(3)}
    transmission_id = accepted(
        post(service, to("sched-a@inbox.test", "sched-b@inbox.test"), options=options)
    )
    transmission = service.request("GET", f"{TRANSMISSIONS}/{transmission_id}").json["results"][
        "transmission"
    ]
    assert transmission["state"] == "submitted"
    assert service.mailbox(to="sched-a@inbox.test") == []
    service.arrived("sched-a@inbox.test")
    service.arrived("sched-b@inbox.test")
    eventually(lambda: _state(service, transmission_id) == "Success")


def test_a_transmission_that_becomes_due_while_the_service_is_down_starts_afterwards(
    own_service: Service,
) -> None:
    own_service.start()
    accepted(post(own_service, to("down@inbox.test"), options={"start_time": at(4)}))
    own_service.stop()
    own_service.start()
    own_service.arrived("down@inbox.test")
    assert len(own_service.mailbox(to="down@inbox.test")) == 1


def test_a_cancelled_transmission_is_not_sent(service: Service) -> None:
    transmission_id = accepted(
        post(service, to("cancel@inbox.test"), options={"start_time": at(600)})
    )
    assert service.request("DELETE", f"{TRANSMISSIONS}/{transmission_id}").status == 204
    assert _state(service, transmission_id) == "Canceled"
    (event,) = eventually(lambda: service.events(recipients="cancel@inbox.test"))
    assert (event["type"], event["bounce_class"]) == ("bounce", "25")
    assert code(service.request("DELETE", f"{TRANSMISSIONS}/{transmission_id}")) == (409, "2006")
    assert code(service.request("DELETE", f"{TRANSMISSIONS}/12345")) == (404, "1600")


def test_a_cancelled_campaign_bounces_each_recipient(service: Service) -> None:
    addresses = to("camp-a@inbox.test", "camp-b@inbox.test")
    accepted(post(service, addresses, campaign_id="stop-me", options={"start_time": at(600)}))
    assert service.request("DELETE", TRANSMISSIONS + "?campaign_id=stop-me").status == 204
    for address in ("camp-a@inbox.test", "camp-b@inbox.test"):
        eventually(lambda address=address: service.event_types(address) == ["bounce"])
        assert service.events(recipients=address)[0]["bounce_class"] == "25"


@pytest.mark.spec("8-t4")
@pytest.mark.parametrize(
    "when",
    ["tomorrow", "2026-01-01", "2026-01-01T00:00:00", at(4 * 86_400)],
    ids=["word", "date", "no-offset", "too-far"],
)
def test_an_invalid_start_time_is_refused(service: Service, when: str) -> None:
    response = post(service, to("x@inbox.test"), options={"start_time": when})
    assert code(response) == (422, "1300")


def _state(service: Service, transmission_id: str) -> str:
    response = service.request("GET", f"{TRANSMISSIONS}/{transmission_id}")
    return response.json["results"]["transmission"]["state"]


@pytest.mark.spec("2.1-t3")
def test_a_transmission_to_a_stored_list_reaches_every_recipient(service: Service) -> None:
    count = 250
    recipients = [{"address": f"list-{i}@inbox.test"} for i in range(count)]
    response = service.request(
        "POST", "/api/v1/recipient-lists", {"id": "journey", "recipients": recipients}
    )
    assert response.status == 200, response.body
    transmission_id = accepted(post(service, {"list_id": "journey"}))
    eventually(lambda: len(service.mailbox(to="list-*", limit="1000")) == count)
    eventually(lambda: _state(service, transmission_id) == "Success")
    assert code(post(service, {"list_id": "unknown"})) == (422, "1603")


@pytest.mark.spec("2.1-t4")
def test_a_stored_template_is_sent_with_its_options(service: Service) -> None:
    template = {
        "id": "journey-template",
        "published": True,
        "options": {"open_tracking": False},
        "content": INLINE | {"subject": "Stored for {{name}}"},
    }
    assert service.request("POST", "/api/v1/templates", template).status == 200
    recipient = [{"address": "stored@inbox.test", "substitution_data": {"name": "Ann"}}]
    accepted(post(service, recipient, {"template_id": "journey-template"}))
    assert message(service, "stored@inbox.test")["Subject"] == "Stored for Ann"
    eventually(lambda: len(service.event_types("stored@inbox.test")) == 2)
    event = service.events(recipients="stored@inbox.test")[0]
    assert event["template_id"] == "journey-template"
    assert event["open_tracking"] is False


@pytest.mark.spec("4.1-r8")
def test_an_unknown_template_is_refused(service: Service) -> None:
    assert code(post(service, to("x@inbox.test"), {"template_id": "none"})) == (422, "1603")


@pytest.mark.spec("4.1-r7")
def test_an_unknown_dkim_key_is_refused(service: Service) -> None:
    response = post(service, to("x@inbox.test"), options={"dkim_key": "none"})
    assert code(response) == (400, "1100")


@pytest.mark.spec("4.1-r9")
def test_an_unknown_tracking_domain_is_refused(service: Service) -> None:
    assert post(service, to("x@inbox.test"), tracking_domain="no.test").status == 400


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"template_id": "a", "html": "x"}, "1301"),
        ({"template_id": "a", "ab_test_id": "b"}, "1301"),
        ({"email_rfc822": "From: a@b.c\n\nx", "subject": "s"}, "1301"),
        ({"from": "hello@example.test", "subject": "s"}, "1400"),
        (INLINE | {"headers": {"Subject": "x"}}, "3002"),
        (INLINE | {"attachments": [{"name": "a", "type": "t/x", "data": "?"}]}, "3010"),
    ],
)
def test_invalid_content_is_refused(service: Service, content: Any, expected: str) -> None:
    assert code(post(service, to("x@inbox.test"), content)) == (422, expected)


@pytest.mark.spec("4.1-r10")
@pytest.mark.spec("8-t1")
def test_five_sandbox_messages_are_sent_and_no_more(own_service: Service) -> None:
    own_service.start()
    content, options = {"template_id": "my-first-email"}, {"sandbox": True}
    wrong = post(own_service, to("x@inbox.test"), options=options)
    assert code(wrong) == (422, "2106")
    override = {"from": {"email": "a@example.test", "name": "Bank"}}
    other_sender = post(
        own_service, to("x@inbox.test"), content, options=options, override=override
    )
    assert code(other_sender) == (422, "1301")
    own = {"id": "my-first-email", "content": INLINE, "published": True}
    assert own_service.request("POST", "/api/v1/templates", own).status == 200
    own_text = post(own_service, to("x@inbox.test"), content, options=options)
    assert code(own_text) == (422, "3051")
    assert own_service.request("DELETE", "/api/v1/templates/my-first-email").status == 200
    recipients = to(*(f"sandbox-{i}@inbox.test" for i in range(5)))
    accepted(post(own_service, recipients, content, options=options))
    assert "sandbox@" in str(message(own_service, "sandbox-4@inbox.test")["From"])
    assert code(post(own_service, to("x@inbox.test"), content, options=options)) == (420, "2101")


@pytest.mark.spec("2.9-t2")
def test_a_suppressed_recipient_gets_no_mail_and_a_bounce(service: Service) -> None:
    path = "/api/v1/suppression-list/suppressed@inbox.test"
    assert service.request("PUT", path, {"type": "non_transactional"}).status == 200
    accepted(post(service, to("suppressed@inbox.test")))
    eventually(
        lambda: sorted(service.event_types("suppressed@inbox.test")) == ["bounce", "injection"]
    )
    bounce = service.events(recipients="suppressed@inbox.test", events="bounce")[0]
    assert (bounce["bounce_class"], bounce["error_code"]) == ("25", "554")
    accepted(post(service, to("suppressed@inbox.test"), options={"transactional": True}))
    service.arrived("suppressed@inbox.test")


def test_a_hard_bounce_suppresses_the_recipient(service: Service) -> None:
    accepted(post(service, to("bounce-hard+twice@inbox.test")))
    path = "/api/v1/suppression-list/bounce-hard+twice@inbox.test"
    entries = eventually(lambda: service.request("GET", path).json.get("results"))
    assert {entry["source"] for entry in entries} == {"Bounce Rule"}


@pytest.mark.spec("3-t5")
@pytest.mark.spec("7-t6")
def test_a_template_cannot_be_deleted_while_a_transmission_needs_it(
    service: Service,
) -> None:
    template = {"id": "journey-kept", "published": True, "content": INLINE}
    assert service.request("POST", "/api/v1/templates", template).status == 200
    options = {"start_time": at(600)}
    transmission_id = accepted(
        post(service, to("kept-t@inbox.test"), {"template_id": "journey-kept"}, options=options)
    )
    assert code(service.request("DELETE", "/api/v1/templates/journey-kept")) == (409, "1602")
    assert service.request("DELETE", f"{TRANSMISSIONS}/{transmission_id}").status == 204
    assert service.request("DELETE", "/api/v1/templates/journey-kept").status == 200


def test_small_and_due_sends_arrive_while_most_of_a_bulk_send_is_outstanding(
    own_service: Service,
) -> None:
    service, bulk = own_service, 4_000
    service.start()
    accepted(post(service, to("due@inbox.test"), options={"start_time": at(2)}))
    accepted(post(service, to(*(f"reader-{number}@inbox.test" for number in range(bulk)))))
    accepted(post(service, to("small@inbox.test")))
    service.arrived("small@inbox.test")
    assert service.mailbox_count() < bulk / 10
    service.arrived("due@inbox.test")
    assert service.mailbox_count() < bulk
    eventually(lambda: service.mailbox_count() == bulk + 2, 120)
