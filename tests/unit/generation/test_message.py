"""One message is generated for one recipient: merged, rendered, composed and signed."""

from __future__ import annotations

import email
import email.policy
import re
from dataclasses import replace
from email.message import EmailMessage
from typing import Any

import dkim as judge
import pytest

from chalicelib.accounts.store import accounts
from chalicelib.core import clock, ids
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.events.documentation import TYPES
from chalicelib.fleet import store as fleets
from chalicelib.generation.message import Generator, NotGenerated
from chalicelib.inbound import mime
from chalicelib.inbound.addresses import message_named_in
from chalicelib.metrics.model import POSITION, values_of
from chalicelib.sending_domains import return_path
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.transmissions.sender import check_may_send
from tests.fake_cloud import aws_requests
from tests.unit.fleet.examples import add, an_ip, make_pool
from tests.unit.generation.examples import (
    INJECTED,
    NAME,
    failure,
    generator,
    make_sender,
    signing,
)
from tests.unit.key_pairs import PAIR
from tests.unit.people import make_account, make_subaccount
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import DEFAULTS, OPTIONS, body, make_transmission

TO = {"email": "R@Example.test"}
ID = make_transmission().id
INLINE = body()["content"]
HEAD = b"From: a@mail.example.test\r\n"
QUIET = OPTIONS | {"initial_open": False}
CANCELLED = {"type": "bounce", "bounce_class": "25", "reason": "554 cancelled"}


@pytest.fixture(autouse=True)
def _sender(cloud: None) -> None:
    make_sender()


def parsed(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data, policy=email.policy.default)


def generated(recipient: Any = TO, **fields: Any) -> EmailMessage:
    return parsed(generator(**fields).generate(0, recipient).data)


def by_pool(pool: str, requested: str | None, subaccount_id: int | None = None) -> Generator:
    """Return a generator of mail that was accepted for a pool, which the client may have named."""
    domains.change(NAME, lambda before: replace(before, shared_with_subaccounts=True))
    options = {} if requested is None else {"ip_pool": requested}
    return generator(
        options=OPTIONS | {"ip_pool": pool},
        requested={"options": options},
        subaccount_id=subaccount_id,
        content=INLINE,
    )


class TestIdentity:
    def test_the_same_recipient_gives_the_same_bytes_and_event(self) -> None:
        inline = {"content": INLINE | {"html": "<p>{{n}}</p>", "headers": {"X-N": "{{n}}"}}}
        raw = {"content": {}, "raw": b"From: a@mail.example.test\r\n\r\n{{n}}\r\n"}
        for fields in (inline, raw, raw | {"substitute": True}):
            transmission = make_transmission(substitution_data={"n": "é"}, **fields)
            first, second = (
                generator(transmission).generate(7, TO),
                generator(transmission).generate(7, TO),
            )
            assert first == second
            assert first.data != generator(transmission).generate(8, TO).data

    def test_the_id_follows_from_transmission_and_index(self) -> None:
        message = generator().generate(7, TO)
        name = ids.message_id(ID, 7)
        assert (message.index, message.event["message_id"]) == (7, name)
        assert parsed(message.data)["Message-ID"] == f"<{name}@{NAME}>"

    def test_templates_know_the_envelope_sender_unless_they_make_the_from(self) -> None:
        raw = b"From: a@mail.example.test\r\nX-E: {{env_from}}\r\n\r\nx"
        for fields in (
            {"content": INLINE | {"headers": {"X-E": "{{env_from}}"}}},
            {"content": {}, "raw": raw, "substitute": True},
        ):
            chunk_generator = generator(**fields).generate(7, TO)
            assert parsed(chunk_generator.data)["X-E"] == chunk_generator.sender
        made_up = INLINE | {"from": "{{f}}", "headers": {"X-E": "[{{env_from}}]"}}
        data = {"f": "a@mail.example.test"}
        assert generated(content=made_up, substitution_data=data)["X-E"] == "[]"

    def test_all_mail_has_a_report_id_header(self) -> None:
        own = {"headers": {"x-svc-report-id": "forged"}, **INLINE}
        raw = b"From: a@mail.example.test\r\nX-SVC-Report-ID: forged\r\n\r\n"
        for fields in ({"content": own}, {"content": {}, "raw": raw}):
            for transactional in (False, True):
                options = OPTIONS | {"transactional": transactional}
                chunk_generator = generator(options=options, **fields).generate(7, TO)
                redacted = re.sub(r"[^\s<>]+@[^\s<>]+", "redacted", chunk_generator.data.decode())
                redacted = re.sub("(?m)^List-Unsubscribe.*\n( .*\n)*", "", redacted)
                headers = mime.header_of(redacted.encode()).values()
                with clock.use(lambda: INJECTED / 1000):
                    assert message_named_in(headers) == ids.message_id(ID, 7)

    def test_the_date_is_that_of_the_first_generation(self) -> None:
        assert generated()["Date"] == "Sat, 31 Jan 2026 09:00:05 +0000"


class TestEvents:
    def test_an_event_has_the_fields_that_all_messages_share(self) -> None:
        make_pool("fast")
        chunk_generator = generator(
            subaccount_id=7,
            campaign_id="spring",
            template_id="welcome",
            template_version="3",
            start_ms=1_769_850_000_000,
            ab_test={"id": "test", "version": 2},
            options=OPTIONS | {"transactional": True, "ip_pool": "fast", "click_tracking": False},
            content=INLINE | {"amp_html": "<html amp4email></html>"},
        ).event
        assert chunk_generator == {
            "customer_id": "1",
            "subaccount_id": "7",
            "transmission_id": ID,
            "recv_method": "rest",
            "campaign_id": "spring",
            "template_id": "welcome",
            "template_version": "3",
            "scheduled_time": "1769850000",
            "ab_test_id": "test",
            "ab_test_version": "2",
            "ip_pool": "fast",
            "transactional": "1",
            "open_tracking": True,
            "click_tracking": False,
            "initial_pixel": True,
            "amp_enabled": True,
        }

    @pytest.mark.spec("2.1-t21")
    def test_an_event_has_the_fields_of_its_message(self) -> None:
        to = TO | {"tags": ["t"], "metadata": {"k": 1}}
        message = generator().generate(0, to)
        path = message.event.pop("msg_from")
        assert message.event == {
            "message_id": ids.message_id(ID, 0),
            "rcpt_to": "r@example.test",
            "raw_rcpt_to": "R@Example.test",
            "rcpt_hash": ids.recipient_hash("r@example.test"),
            "rcpt_meta": {"k": 1},
            "rcpt_tags": ["t"],
            "recipient_domain": "example.test",
            "routing_domain": "example.test",
            "mailbox_provider": "Other",
            "mailbox_provider_region": "Unknown",
            "subject": "Hi",
            "friendly_from": "a@mail.example.test",
            "sending_domain": NAME,
            "msg_size": str(len(message.data)),
            "injection_time": "2026-01-31T09:00:05.000Z",
        }
        assert (message.recipient, message.sender) == ("R@Example.test", path)

    @pytest.mark.spec("2.1-t7")
    @pytest.mark.spec("2.1-t22")
    def test_a_recipients_metadata_counts_before_the_transmissions(self) -> None:
        transmission = generator(metadata={"a": 1, "b": 1})
        to = TO | {"metadata": {"b": 2, "c": 2}}
        assert transmission.generate(0, to).event["rcpt_meta"] == {"a": 1, "b": 2, "c": 2}

    @pytest.mark.spec("2.1-t24")
    @pytest.mark.parametrize("own", [True, False])
    @pytest.mark.parametrize("data", [True, False])
    @pytest.mark.parametrize(
        ("option", "field"),
        [
            ("open_tracking", "open_tracking"),
            ("click_tracking", "click_tracking"),
            ("initial_open", "initial_pixel"),
        ],
    )
    def test_a_recipients_options_count_before_the_transmissions(
        self, option: str, field: str, own: bool, data: bool
    ) -> None:
        transmission = generator(options=OPTIONS | {option: data}, content=INLINE | {"html": "<p>"})
        message = transmission.generate(0, TO | {"options": {option: own}})
        assert (transmission.event | message.event)[field] is own
        assert (transmission.event | transmission.generate(1, TO).event)[field] is data

    @pytest.mark.parametrize("refusal", [CANCELLED, {}])
    @pytest.mark.parametrize(
        ("fields", "pixel", "is_amp"),
        [
            ({"content": INLINE}, False, False),
            ({"content": INLINE | {"html": "<p>"}}, True, False),
            ({"content": INLINE | {"amp_html": "<html amp4email>"}}, True, True),
            ({"content": INLINE | {"html": "<p>"}, "options": QUIET}, False, False),
            ({"content": {}, "raw": HEAD + b"\r\nHello"}, False, False),
            ({"content": {}, "raw": HEAD + b"Content-Type: text/html\r\n\r\n<p>"}, True, False),
            ({"content": {}, "raw": HEAD.replace(b":", b"") + b"\r\nHello"}, False, False),
        ],
    )
    def test_events_of_mail_without_a_message_say_what_it_would_have_held(
        self, fields: dict[str, Any], pixel: bool, is_amp: bool, refusal: dict[str, str]
    ) -> None:
        data = {"from": "{{if}}"} if not refusal else {}
        event = failure(generator(**fields, refusal=refusal, override=data, substitute=True), TO)
        assert (event["initial_pixel"], event["amp_enabled"]) == (pixel, is_amp)

    def test_cancelled_mail_whose_template_is_gone_has_no_pixel(self) -> None:
        fields = {"content": {"template_id": "gone"}, "refusal": CANCELLED}
        assert failure(generator(**fields), TO)["initial_pixel"] is False


class TestSubstitution:
    @pytest.mark.spec("2.1-t8")
    @pytest.mark.spec("2.1-t23")
    @pytest.mark.parametrize(
        ("data", "to", "expected"),
        [
            ({"metadata": {"n": 1}}, {}, "1"),
            ({"metadata": {"n": 1}, "substitution_data": {"n": 2}}, {}, "2"),
            ({"substitution_data": {"n": 2}}, {"metadata": {"n": 3}}, "3"),
            (
                {"substitution_data": {"n": 2}},
                {"metadata": {"n": 3}, "substitution_data": {"n": 4}},
                "4",
            ),
        ],
    )
    def test_the_data_of_recipient_and_transmission_is_merged(
        self, data: Any, to: Any, expected: str
    ) -> None:
        for fields in (
            {"content": INLINE | {"subject": "{{n}}"}},
            {
                "content": {},
                "substitute": True,
                "raw": b"From: a@mail.example.test\r\nSubject: {{n}}\r\n\r\nx",
            },
        ):
            message = generator(**data, **fields).generate(0, TO | to)
            assert parsed(message.data)["Subject"] == message.event["subject"] == expected

    @pytest.mark.spec("2.1-t20")
    def test_content_can_use_the_address_of_the_recipient(self) -> None:
        content = INLINE | {"subject": "{{address.name}} {{email}}"}
        to = TO | {"name": "Zoë"}
        assert generated(to, content=content)["Subject"] == "Zoë R@Example.test"

    def test_a_message_over_smtp_is_no_template(self) -> None:
        raw = b"From: a@mail.example.test\r\nSubject: {{n}}\r\n\r\n{{if\r\n"
        message = generator(content={}, raw=raw).generate(0, TO)
        assert message.event["subject"] == "{{n}}"
        assert message.data.endswith(b"\r\n\r\n{{if\r\n")


class TestSigning:
    def verifies(self, data: bytes) -> bool:
        txt = txt_record(PAIR.public_b64).encode()
        return bool(judge.verify(data, dnsfunc=lambda *_, **__: txt))

    def test_a_message_is_signed_by_its_domain(self) -> None:
        message_bytes = generator().generate(0, TO).data
        assert message_bytes.startswith(b"DKIM-Signature: ")
        signature = message_bytes.partition(b"\r\nFrom:")[0]
        for tag in (b"d=mail.example.test", b"s=s1", b"t=1769850005"):
            assert tag in signature
        assert self.verifies(message_bytes)
        assert not self.verifies(message_bytes.replace(b"Hello", b"Hallo"))

    def test_a_key_that_is_not_verified_does_not_sign(self) -> None:
        status = DomainStatus(ownership_verified=True)
        domains.create(domain("plain.test", status=status, dkim=signing("plain.test")))
        transmission = generator(content=INLINE | {"from": "a@plain.test"})
        assert b"DKIM-Signature" not in transmission.generate(0, TO).data

    @pytest.mark.spec("2.8-t3")
    def test_the_key_of_the_pool_signs_for_a_domain_without_one(self) -> None:
        status = DomainStatus(ownership_verified=True)
        domains.create(domain("plain.test", status=status))
        pool = make_pool("Fast", signing_domain=NAME)
        options = OPTIONS | {"ip_pool": pool}
        transmission = generator(content=INLINE | {"from": "a@plain.test"}, options=options)
        assert b"d=mail.example.test" in transmission.generate(0, TO).data

    @pytest.mark.spec("2.8-t4")
    def test_a_second_key_signs_for_hosts_whose_feedback_loop_wants_one(self) -> None:
        domains.create(domain("fbl.test", dkim=signing("fbl.test", "f1")))
        options = OPTIONS | {"ip_pool": make_pool("Fast", fbl_signing_domain="fbl.test")}
        transmission = generator(options=options)
        assert transmission.generate(0, {"email": "r@yahoo.com"}).data.count(b"DKIM-Signature") == 2
        assert transmission.generate(1, TO).data.count(b"DKIM-Signature") == 1

    @pytest.mark.spec("2.1-t17")
    def test_a_message_whose_key_was_deleted_is_refused(self) -> None:
        event = failure(generator(options=OPTIONS | {"dkim_key": "s9"}), TO)
        assert event["type"] == "generation_rejection"
        assert "'s9' is no verified DKIM key" in event["reason"]


class TestEnvelope:
    @pytest.mark.spec("2.5-r5")
    def test_the_sender_is_the_service_s_own_at_the_bounce_domain(self) -> None:
        message = generator().generate(0, TO)
        local, _, host = message.sender.partition("@")
        with clock.use(lambda: INJECTED / 1000):
            assert return_path.message_of(local) == message.event["message_id"]
        assert host == settings().system_domain

    @pytest.mark.spec("2.1-t9")
    def test_the_domain_of_a_return_path_is_used_and_its_local_part_is_not(self) -> None:
        domains.create(domain("bounce.test"))
        message = generator(return_path="anything@bounce.test").generate(0, TO)
        assert message.sender.startswith("b.")
        assert message.sender.endswith("@bounce.test")

    @pytest.mark.spec("2.1-t25")
    @pytest.mark.spec("1-r5")
    def test_a_standard_account_ignores_the_return_path_of_a_recipient(self) -> None:
        domains.create(domain("bounce.test"))
        to = TO | {"return_path": "verp@nowhere.test"}
        host = generator().generate(0, to).sender.partition("@")[2]
        assert host == settings().system_domain
        message = generator(return_path="anything@bounce.test").generate(0, to)
        assert message.sender.endswith("@bounce.test")

    @pytest.mark.spec("2.1-t25")
    def test_an_enterprise_account_may_name_a_return_path_for_each_recipient(self) -> None:
        make_account(2, service_level="enterprise")
        domains.create(domain("two.test", account=2, dkim=signing("two.test")))
        transmission = generator(
            account_id=2,
            content=INLINE | {"from": "a@two.test"},
            defaults=DEFAULTS | {"enterprise": True},
            return_path="all@any.test",
        )
        to = [TO, TO | {"return_path": "one+r=example.test@any.test"}]
        senders = [transmission.generate(index, each).sender for index, each in enumerate(to)]
        assert senders == ["all@any.test", "one+r=example.test@any.test"]


class TestFailures:
    def test_a_fault_of_the_content_fails_its_recipient_alone(self) -> None:
        transmission = generator(content=INLINE | {"text": "{{if n > 1}}x{{end}}"})
        event = failure(transmission, TO | {"substitution_data": {"n": "x"}, "tags": ["t"]}, 3)
        assert event["type"] == "generation_failure"
        assert (event["error_code"], event["timestamp"]) == ("554", INJECTED)
        assert event["reason"].startswith(
            "554 5.3.3 [internal] Error while rendering part text: line 1: "
        )
        assert event["raw_reason"] == event["reason"]
        assert event["rcpt_subs"] == {"n": "x"}
        assert (event["rcpt_to"], event["rcpt_tags"]) == ("r@example.test", ["t"])
        assert event["transmission_id"] == ID
        assert "message_id" not in event
        assert transmission.generate(4, TO | {"substitution_data": {"n": 2}})

    @pytest.mark.parametrize(
        ("fields", "text"),
        [
            ({"content": INLINE | {"text": "{{"}}, "part text"),
            ({"content": INLINE | {"subject": "{{end}}"}}, "header Subject"),
            ({"content": INLINE | {"from": "{{n}}"}}, "invalid address"),
            ({"content": INLINE | {"headers": {"X-A": "{{n}}"}}}, "must be one line"),
            ({"content": {}, "raw": b"Subject: x\r\n\r\nx"}, "From"),
            ({"content": {}, "substitute": True, "raw": b"no header\r\n\r\nx"}, "header"),
            (
                {
                    "content": {},
                    "substitute": True,
                    "raw": b"From: a@mail.example.test\r\n\r\n{{end}}",
                },
                "part text",
            ),
            ({"override": {"from": "nobody"}}, "invalid address"),
        ],
    )
    def test_a_message_that_cannot_be_built_fails(self, fields: Any, text: str) -> None:
        event = failure(generator(**fields), TO | {"substitution_data": {"n": "a\r\nBcc: b"}})
        assert event["type"] == "generation_failure"
        assert event["reason"].startswith("554 5.3.3 ")
        assert text in event["reason"]

    @pytest.mark.spec("2.2-t1")
    def test_a_from_that_a_template_made_must_be_of_a_verified_domain_of_the_sender(self) -> None:
        domains.create(domain("other.test", account=2))
        domains.create(domain("new.test", status=DomainStatus()))
        transmission = generator(content=INLINE | {"from": "a@{{n}}"})
        for name in ("other.test", "new.test", "unknown.test"):
            event = failure(transmission, TO | {"substitution_data": {"n": name}})
            assert event["type"] == "generation_rejection"
            assert (event["error_code"], event["bounce_class"]) == ("550", "25")
            assert event["reason"].startswith("550 5.7.1 [internal] U")
        assert transmission.generate(1, TO | {"substitution_data": {"n": NAME}})

    @pytest.mark.parametrize("stopped", ["account", "subaccount", "compliance"])
    def test_a_sender_that_is_suspended_after_the_start_sends_no_more(self, stopped: str) -> None:
        def status_of(name: str) -> str:
            return "suspended" if stopped == name else "active"

        accounts.change(1, lambda account: replace(account, status=status_of("account")))
        number = make_subaccount(
            status=status_of("subaccount"), compliance_status=status_of("compliance")
        ).id
        event = failure(generator(content=INLINE, subaccount_id=number), TO)
        assert event["type"] == "generation_rejection"
        assert "suspended" in event["reason"]

    @pytest.mark.spec("2.6-t5")
    def test_mail_of_a_pool_that_has_lost_its_ips_is_rejected(self) -> None:
        make_pool("fast")
        add(an_ip(1))
        number = make_subaccount(ip_pool="fast").id
        event = failure(by_pool("fast", None, number), TO)
        assert event["type"] == "generation_rejection"
        assert event["reason"] == ("550 5.7.1 [internal] ip_pool: pool 'fast' has no sending IP")
        assert failure(by_pool("fast", "fast"), TO)["reason"] == event["reason"]
        add(an_ip(2, "fast"))
        assert by_pool("fast", None, number).generate(0, TO)

    @pytest.mark.spec("2.6-t5")
    def test_mail_leaves_by_the_pool_that_its_subaccount_has_now(self) -> None:
        for name in ("fast", "slow"):
            make_pool(name)
        number = make_subaccount(ip_pool="slow").id
        mail = by_pool("fast", None, number)
        assert mail.generate(0, TO)
        assert mail.event["ip_pool"] == "slow"
        for requested in ("fast", "default"):
            event = failure(by_pool(requested, requested, number), TO)
            assert event["type"] == "generation_rejection"
            assert "the subaccount sends by pool 'slow' only" in event["reason"]
            assert by_pool(requested, requested, number).event["ip_pool"] == requested

    @pytest.mark.spec("2.6-t5")
    def test_a_subaccount_whose_pool_does_not_exist_sends_by_no_other(self) -> None:
        number = make_subaccount(ip_pool="gone").id
        for requested in (None, "default"):
            assert "'gone'" in failure(by_pool("default", requested, number), TO)["reason"]

    def test_mail_of_a_deleted_pool_leaves_by_the_default_pool(self) -> None:
        mail = by_pool("gone", "gone")
        assert mail.generate(0, TO)
        assert mail.event["ip_pool"] == "default"

    @pytest.mark.cost
    def test_a_domain_is_looked_up_once_whether_it_may_send_or_not(self) -> None:
        check_may_send(1, None)  # each chunk reads this ahead
        fleets.get_cached(1)
        transmission = generator(content=INLINE | {"from": "a@{{n}}"})
        with aws_requests() as requests:
            for index in range(4):
                failure(transmission, TO | {"substitution_data": {"n": "unknown.test"}}, index)
        assert len(requests) == 1

    def test_a_message_that_is_too_large_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        size = len(generator().generate(0, TO).data)
        monkeypatch.setenv("MAX_MESSAGE_BYTES", str(size))
        settings.cache_clear()
        assert generator().generate(0, TO)
        monkeypatch.setenv("MAX_MESSAGE_BYTES", str(size - 1))
        settings.cache_clear()
        event = failure(generator(), TO)
        assert event["type"] == "generation_failure"
        assert f"message of {size} bytes is over {size - 1}" in event["reason"]

    def test_a_recipient_that_is_named_twice_has_an_event_of_its_own_each_time(self) -> None:
        transmission = generator(content=INLINE | {"text": "{{end}}"})
        events = [failure(transmission, TO, index) for index in (0, 1, 1)]
        assert len({event["event_id"] for event in events}) == 2
        assert events[1] == events[2]

    @pytest.mark.parametrize(
        ("fields", "sender"),
        [
            ({"content": INLINE | {"from": "a@unknown.test"}}, "a@unknown.test"),
            ({"content": INLINE | {"from": "{{n}}@unknown.test"}}, "ann@unknown.test"),
            (
                {"content": INLINE | {"from": {"email": "a@{{d}}", "name": "{{end}}"}}},
                "a@unknown.test",
            ),
            ({"override": {"from": "Ann <a@unknown.test>"}}, "a@unknown.test"),
            ({"options": OPTIONS | {"dkim_key": "s9"}}, "a@mail.example.test"),
            (
                {
                    "content": {},
                    "substitute": True,
                    "raw": b"From: A <a@{{d}}>\r\nX-N: {{end}}\r\nSubject: Hi {{n}}\r\n\r\nx",
                },
                "a@unknown.test",
            ),
        ],
    )
    def test_a_rejection_tells_from_and_subject(self, fields: Any, sender: str) -> None:
        fields = {"content": INLINE} | fields
        if fields["content"]:
            fields["content"] = fields["content"] | {"subject": "Hi {{n}}"}
        data = {"n": "ann", "d": "unknown.test"}
        event = failure(generator(**fields), TO | {"substitution_data": data})
        assert event["friendly_from"] == sender
        assert event["sending_domain"] == sender.partition("@")[2]
        if event["type"] == "generation_rejection":
            assert event["subject"] == "Hi ann"
            assert set(event) <= {*TYPES["generation_rejection"].fields, "rcpt_index"}

    @pytest.mark.parametrize(
        ("fields", "known_fields"),
        [
            ({"text": "{{end}}"}, {"friendly_from": "a@mail.example.test", "sending_domain": NAME}),
            (
                {"subject": "{{end}}"},
                {"friendly_from": "a@mail.example.test", "sending_domain": NAME},
            ),
            (
                {"from": "{{n}}@mail.example.test", "text": "{{end}}"},
                {"friendly_from": "ann@mail.example.test", "sending_domain": NAME},
            ),
            ({"from": "{{none}}@mail.example.test"}, {"sending_domain": NAME}),
            ({"from": "a@{{none}}"}, {}),
        ],
    )
    def test_a_failure_tells_the_from_as_far_as_it_is_known(
        self, fields: Any, known_fields: Any
    ) -> None:
        event = failure(
            generator(content=INLINE | fields), TO | {"substitution_data": {"n": "ann"}}
        )
        assert event["type"] == "generation_failure"
        names = ("friendly_from", "sending_domain", "subject")
        assert {name: event[name] for name in names if name in event} == known_fields

    def test_refused_and_failed_mail_counts_under_its_sending_domain(self) -> None:
        refusal = {"type": "bounce", "reason": "554 cancelled"}
        events = [
            failure(generator(content=INLINE | {"text": "{{end}}"}), TO),
            failure(generator(options=OPTIONS | {"dkim_key": "s9"}), TO),
            failure(generator(refusal=refusal), TO),
        ]
        kinds = ["generation_failure", "generation_rejection", "bounce"]
        assert [event["type"] for event in events] == kinds
        assert {values_of(event)[POSITION["sending-domain"]] for event in events} == {NAME}

    @pytest.mark.cost
    def test_each_recipient_of_a_refused_transmission_gets_its_event(self) -> None:
        refusal = {"type": "bounce", "bounce_class": "25", "reason": "554 cancelled"}
        transmission = generator(
            replace(make_transmission(), refusal=refusal, content={"template_id": "gone"})
        )
        with aws_requests() as requests:
            event = failure(transmission, TO)
        assert requests == []
        assert (event["type"], event["bounce_class"]) == ("bounce", "25")
        assert (event["reason"], event["rcpt_to"]) == ("554 cancelled", "r@example.test")
        assert "sending_domain" not in event
        with pytest.raises(NotGenerated, match="554 cancelled"):
            transmission.generate(1, TO)
