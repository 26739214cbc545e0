from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from chalicelib.ab_tests.model import AbTest, Share
from chalicelib.ab_tests.store import sample
from chalicelib.accounts.store import usage
from chalicelib.core import clock, due, queues
from chalicelib.core.errors import ServiceError
from chalicelib.core.request import Caller
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.core.settings import settings
from chalicelib.generation.chunk import Chunk
from chalicelib.generation.worker import read_chunk
from chalicelib.recipient_lists.store import lists
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus
from chalicelib.templates.model import Edit, new_template
from chalicelib.templates.store import leases as template_leases
from chalicelib.templates.store import records as templates
from chalicelib.transmissions.accept import accept
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.view import transmission_view
from tests.fake_cloud import queued_work
from tests.unit.ab_tests.examples import START, by_percent, by_size, stored
from tests.unit.fleet.examples import make_pool
from tests.unit.people import limit, make_account, make_subaccount
from tests.unit.recipient_lists.examples import saved
from tests.unit.refusals import refusal_code
from tests.unit.sending_domains.examples import domain
from tests.unit.transmissions.examples import CREATED, OPTIONS, body, content

OPENS_OFF = {"open_tracking": False}
CALLER = Caller(Scope(1, PRIMARY), "key", frozenset({"transmissions/modify"}))


@pytest.fixture(autouse=True)
def _with_a_domain(cloud: None) -> None:
    make_account()
    domains.create(domain())


def accepted(data: Any, caller: Caller = CALLER) -> Chunk:
    """Accept a transmission of one chunk and return the chunk."""
    accept(caller, data)
    (chunk,) = [read_chunk(queues.read(each)) for each in queued_work()]
    return chunk


def refused_request(data: Any, caller: Caller = CALLER) -> tuple[int, str | None]:
    code = refusal_code(accept, caller, data)
    assert queued_work() == []
    return code


def places_of(test: AbTest) -> int:
    """Take all places left in the sample of a test of one template; return how many there were."""
    places = [sample.take(test, f"m{number}", test.shares[:1]) for number in range(5)]
    return len([each for each in places if each])


@pytest.mark.spec("4.1-t1")
def test_an_accepted_transmission_is_queued_with_all_fields_of_the_request() -> None:
    request_body = body(
        campaign_id="spring",
        description="Spring sale",
        metadata={"m": 1},
        substitution_data={"s": 2},
    )
    with clock.use(lambda: CREATED / 1000):
        acceptance = accept(CALLER, request_body)
    (received,) = [queues.read(each) for each in queued_work()]
    transmission = read_chunk(received).transmission
    assert acceptance.id == transmission.id
    assert (acceptance.count, acceptance.refusals.errors) == (1, [])
    assert (transmission.account_id, transmission.subaccount_id, transmission.recv_method) == (
        1,
        None,
        "rest",
    )
    assert transmission.created_ms == CREATED
    assert transmission.content == request_body["content"]
    assert (transmission.campaign_id, transmission.description) == ("spring", "Spring sale")
    assert (transmission.metadata, transmission.substitution_data) == ({"m": 1}, {"s": 2})


@pytest.mark.spec("8-t6")
def test_the_number_of_recipients_is_bounded_by_the_body_alone() -> None:
    request_body = body(recipients=[{"address": f"r{i}@example.test"} for i in range(10_001)])
    assert accept(CALLER, request_body).count == 10_001
    assert len(queued_work()) == -(-10_001 // settings().chunk_recipients)


def test_a_transmission_belongs_to_the_subaccount_that_sends_it() -> None:
    number = make_subaccount().id
    domains.create(domain("sub.test", subaccount_id=number))
    caller = Caller(Scope(1, number), "key", frozenset())
    request_body = accepted(content(**{"from": "a@sub.test"}), caller)
    assert request_body.transmission.subaccount_id == number


@pytest.mark.spec("7-t22")
def test_bad_recipients_are_reported_and_the_good_ones_get_the_message() -> None:
    request_body = body(recipients=[{"address": "nobody"}, {"address": "r@example.test"}])
    acceptance = accept(CALLER, request_body)
    assert (acceptance.count, acceptance.refusals.count) == (1, 1)
    (chunk,) = [read_chunk(queues.read(each)) for each in queued_work()]
    assert chunk.recipients == [{"email": "r@example.test"}]


@pytest.mark.parametrize(
    ("data", "changed"),
    [
        ({}, {}),
        ({"open_tracking": False}, {"open_tracking": False, "initial_open": False}),
        ({"open_tracking": False, "initial_open": True}, {"open_tracking": False}),
        ({"initial_open": False}, {"initial_open": False}),
        ({"click_tracking": False}, {"click_tracking": False}),
        ({"transactional": True}, {"transactional": True}),
        ({"ip_pool": "fast"}, {"ip_pool": "fast"}),
        ({"inline_css": True, "dkim_key": "s1"}, {"inline_css": True, "dkim_key": "s1"}),
    ],
)
@pytest.mark.spec("2.1-t11")
@pytest.mark.spec("2.1-t12")
@pytest.mark.spec("2.1-t13")
@pytest.mark.spec("2.1-t14")
@pytest.mark.spec("2.1-t15")
@pytest.mark.spec("2.1-t16")
def test_options_of_the_request_override_the_defaults(data: Any, changed: Any) -> None:
    make_pool("fast")
    assert accepted(body(options=data)).transmission.options == OPTIONS | changed


@pytest.mark.spec("4.1-r6")
@pytest.mark.parametrize(
    "sender",
    [
        "a@elsewhere.test",
        "Ann <a@elsewhere.test>",
        {"email": "a@elsewhere.test"},
        "a@mail.example.test.evil.test",
        "a@sub.mail.example.test",
        "a@example.test",
    ],
)
def test_a_domain_that_is_not_set_up_is_refused(sender: Any) -> None:
    assert refused_request(content(**{"from": sender})) == (400, "7001")


@pytest.mark.spec("4.1-r6")
def test_a_domain_that_is_not_verified_is_refused() -> None:
    domains.create(domain("new.test", status=DomainStatus()))
    assert refused_request(content(**{"from": "a@new.test"})) == (400, "7001")


def test_a_domain_of_another_account_or_subaccount_is_refused() -> None:
    domains.create(domain("other.test", account=2))
    domains.create(domain("sub.test", subaccount_id=7))
    assert refused_request(content(**{"from": "a@other.test"})) == (400, "7001")
    assert refused_request(content(**{"from": "a@sub.test"})) == (400, "7001")


@pytest.mark.parametrize(
    "sender",
    [
        "nobody",
        "@",
        "a@",
        "a@b",
        "Ann <>",
        "a@b..c",
        "a@elsewhere.test, b@mail.example.test",
        "a@mail.example.test, b@elsewhere.test",
        "a@mail.example.test, b <b@mail.example.test>",
        "ceo@elsewhere.test; b <b@mail.example.test>",
        "{{n}}, a@elsewhere.test <b@elsewhere.test>",
        "a@elsewhere.test <b@mail.example.test>, <c@mail.example.test>",
        {"email": "a@b.c, b@mail.example.test"},
    ],
)
def test_a_sender_without_a_domain_or_with_several_is_refused(sender: Any) -> None:
    assert refused_request(content(**{"from": sender})) == (400, "7001")
    assert refused_request(body(override={"from": sender})) == (400, "7001")


@pytest.mark.parametrize(
    "sender",
    [
        "a@mail.example.test",
        "Doe, Ann <a@mail.example.test>",
        '"a@elsewhere.test, Ann" <a@mail.example.test>',
        "a@MAIL.Example.TEST",
        "Ann <a@mail.example.test>",
        "Ann < a@mail.example.test > ",
        {"email": "a@mail.example.test", "name": "Ann"},
        "{{local}}@mail.example.test",
        {"email": "a@mail.example.test", "name": "{{name}}"},
    ],
)
def test_a_sender_of_a_verified_domain_is_accepted(sender: Any) -> None:
    assert accepted(content(**{"from": sender})).transmission.content["from"] == sender


@pytest.mark.parametrize(
    "sender", ["{{from}}", "a@{{domain}}", "a@{{ domain }}.test", {"email": "{{from}}"}]
)
def test_a_sender_whose_domain_a_template_makes_is_left_to_generation(sender: Any) -> None:
    assert accepted(content(**{"from": sender})).transmission.content["from"] == sender


@pytest.mark.spec("2.1-t2")
def test_the_domain_of_an_overriding_from_counts() -> None:
    own, other = "a@mail.example.test", "a@elsewhere.test"
    accepted(content(**{"from": other}) | {"override": {"from": own}})
    assert refused_request(body(override={"from": other})) == (400, "7001")
    assert refused_request(body(override={"from": {"email": other}})) == (400, "7001")


@pytest.mark.parametrize("sender", ["{{n}}", "{{n}} <a@{{d}}>", "a@{{d}}", "nobody"])
def test_an_overriding_from_is_an_address_because_nothing_is_substituted_in_it(sender: str) -> None:
    assert refused_request(body(override={"from": sender})) == (400, "7001")


RAW = "From: a@mail.example.test\nSubject: s\n\nHello {{name}}\n"


class TestMessages:
    def test_a_pre_built_message_is_kept_as_bytes_and_is_a_template(self) -> None:
        transmission = accepted(body(content={"email_rfc822": RAW})).transmission
        assert (transmission.raw, transmission.content, transmission.substitute) == (
            RAW.encode(),
            {},
            True,
        )

    @pytest.mark.spec("2.2-r5")
    @pytest.mark.spec("2.2-r4")
    @pytest.mark.spec("2.2-r2")
    @pytest.mark.parametrize("override", [{}, {"from": "a@mail.example.test"}])
    @pytest.mark.parametrize(
        "raw",
        [
            "no header at all\n\nx",
            RAW.replace("Subject", "Content-Type: multipart/mixed\nSubject"),
            RAW + ".\n",
            RAW.replace("Subject", "Subject: t\nSubject"),
            RAW.replace("Subject", "Content-Type: text/x-amp-html\nSubject"),
            "From: a@mail.example.test\nContent-Transfer-Encoding: base64\n\n$$$",
            "From: a@mail.example.test\nContent-Type: image/png\n"
            "Content-Transfer-Encoding: base64\n\nAAAAA",
        ],
    )
    def test_a_message_that_breaks_a_rule_is_refused_whatever_is_overridden(
        self, raw: str, override: Any
    ) -> None:
        request_body = body(content={"email_rfc822": raw}, override=override)
        assert refused_request(request_body) == (422, "3020")

    @pytest.mark.parametrize(
        "sender",
        [
            "",
            "From: nobody\n",
            "From: a@elsewhere.test\n",
            "From: a@elsewhere.test, b@mail.example.test\n",
            "From: a@mail.example.test\nFrom: ceo@elsewhere.test\n",
            "From: ceo@elsewhere.test\nFrom: a@mail.example.test\n",
            "From: a@mail.example.test, b <b@mail.example.test>\n",
            "From: Doe, Ann <a@mail.example.test>\n",
        ],
    )
    def test_the_from_of_a_pre_built_message_is_checked(self, sender: str) -> None:
        raw = RAW.replace("From: a@mail.example.test\n", sender)
        assert refused_request(body(content={"email_rfc822": raw})) == (400, "7001")

    @pytest.mark.parametrize(
        "sender", ["=?utf-8?Q?Doe=2C_a=40b?= <a@mail.example.test>", "Zoë <a@mail.example.test>"]
    )
    def test_the_from_of_a_pre_built_message_may_have_any_name(self, sender: str) -> None:
        accepted(body(content={"email_rfc822": RAW.replace("a@mail.example.test", sender)}))

    @pytest.mark.parametrize(
        "raw",
        [
            RAW.replace("Subject: s", "References: <" + "x" * 1000 + ">"),
            RAW + "x" * 999,
            RAW.replace("Subject", "Content-Type: multipart/signed; boundary=b\nSubject")
            + f"--b\n\n{'x' * 999}\n--b--\n",
        ],
    )
    def test_a_pre_built_message_that_no_host_takes_is_refused(self, raw: str) -> None:
        assert refused_request(body(content={"email_rfc822": raw})) == (422, "3020")


class TestTemplates:
    def make(self, **fields: Any) -> None:
        content = body()["content"] | fields
        new = new_template(Scope(1, 0), "welcome", Edit(published=True, options=OPENS_OFF))
        assert templates.create(new, content)

    def test_the_content_and_options_of_a_template_are_taken_at_once(self) -> None:
        self.make(subject="Stored")
        transmission = accepted(body(content={"template_id": "welcome"})).transmission
        assert transmission.content == body()["content"] | {"subject": "Stored"}
        assert transmission.options == OPTIONS | {"open_tracking": False, "initial_open": False}
        assert (transmission.template_id, transmission.template_version, transmission.resolved) == (
            "welcome",
            "1",
            True,
        )

    def test_the_from_of_a_template_is_checked(self) -> None:
        self.make(**{"from": "a@elsewhere.test"})
        assert refused_request(body(content={"template_id": "welcome"})) == (400, "7001")

    def test_a_template_with_two_addresses_in_from_is_refused(self) -> None:
        self.make(**{"from": "a@mail.example.test, b <b@mail.example.test>"})
        assert refused_request(body(content={"template_id": "welcome"})) == (400, "7001")

    @pytest.mark.spec("4.1-r8")
    def test_a_missing_template_is_refused(self) -> None:
        assert refused_request(body(content={"template_id": "welcome"})) == (422, "1603")


class TestAbTests:
    @pytest.fixture(autouse=True)
    def _with_a_test(self, _with_a_domain: None) -> None:
        for name in ("t0", "t1"):
            new = new_template(Scope(1, 0), name, Edit(published=True))
            assert templates.create(new, body()["content"] | {"subject": name})
        stored(by_percent(50, 50))

    def test_a_recipient_gets_a_template_of_the_test(self) -> None:
        with clock.use(lambda: START / 1000):
            transmission = accepted(body(content={"ab_test_id": "welcome"})).transmission
        assert transmission.ab_test == {"id": "welcome", "version": 1}
        assert transmission.content["subject"] == transmission.template_id
        assert transmission.template_id in ("t0", "t1")
        assert transmission.requested == {"options": {}, "content": {"ab_test_id": "welcome"}}

    @pytest.mark.parametrize("is_scheduled", [True, False])
    def test_the_transmission_is_shown_with_its_test_and_only_the_options_of_the_request(
        self, is_scheduled: bool
    ) -> None:
        start_time = clock.iso_offset(START / 1000 + 3600)
        options = {"start_time": start_time} if is_scheduled else {}
        with clock.use(lambda: START / 1000):
            acceptance = accept(CALLER, body(content={"ab_test_id": "welcome"}, options=options))
            record = transmissions.get(acceptance.id)
            assert record is not None
            view = transmission_view(record)
        chosen_template = {} if is_scheduled else {"template_id": record.transmission.template_id}
        assert view["content"] == {"ab_test_id": "welcome"} | chosen_template
        assert view["options"] == options

    @pytest.mark.parametrize(
        "to", [[{"address": "r@example.test"}] * 2, [], {"list_id": "friends"}]
    )
    def test_an_ab_test_goes_to_a_single_recipient(self, to: Any) -> None:
        request_body = body(content={"ab_test_id": "welcome"}, recipients=to)
        assert refused_request(request_body) == (422, "1300")

    @pytest.mark.spec("4.1-r8")
    def test_a_missing_ab_test_is_refused(self) -> None:
        assert refused_request(body(content={"ab_test_id": "unknown"})) == (422, "1603")

    @pytest.mark.parametrize(
        ("template", "options", "code"),
        [
            ("t0", {"dkim_key": "unknown"}, "1100"),
            ("t0", {"ip_pool": "unknown"}, "1300"),
            ("gone", {}, "1603"),
        ],
    )
    def test_a_refused_request_takes_no_sample_place(
        self, template: str, options: Any, code: str
    ) -> None:
        share = Share(template, sample_size=2)
        test = stored(by_size(2, id="sampled", default_template=share))
        request_body = body(content={"ab_test_id": "sampled"}, options=options)
        with clock.use(lambda: START / 1000):
            assert [refused_request(request_body)[1] for _ in range(3)] == [code] * 3
        assert places_of(test) == 2

    def test_a_refused_repeat_keeps_the_sample_place_of_the_accepted_request(self) -> None:
        test = stored(by_size(2, id="sampled"))
        request_body = body(content={"ab_test_id": "sampled"})
        with clock.use(lambda: START / 1000):
            accept(CALLER, request_body, "191930000000000001")
            with pytest.raises(ServiceError):
                accept(
                    CALLER, request_body | {"options": {"ip_pool": "unknown"}}, "191930000000000001"
                )
        assert places_of(test) == 1

    def test_a_scheduled_transmission_takes_its_sample_place_when_it_starts(self) -> None:
        test = stored(by_size(2, id="sampled"))
        start = clock.iso_offset(START / 1000 + 3600)
        request_body = body(content={"ab_test_id": "sampled"}, options={"start_time": start})
        with clock.use(lambda: START / 1000):
            for _ in range(3):
                accept(CALLER, request_body)
        assert places_of(test) == 2


class TestLists:
    @pytest.mark.spec("2.1-t3")
    def test_a_stored_list_is_counted_noted_and_cut_into_chunks_later(self) -> None:
        limit(monthly=10**9)
        recipient_list = saved(count=3)
        acceptance = accept(CALLER, body(recipients={"list_id": "friends"}))
        (received,) = [queues.read(each) for each in queued_work()]
        assert received.head == {"kind": "start", "transmission": acceptance.id}
        record = transmissions.get(acceptance.id)
        assert record is not None
        assert (acceptance.count, record.recipients) == (3, 3)
        assert record.list_ref == {
            "id": "friends",
            "version": recipient_list.version,
            "identity": recipient_list.identity,
        }
        assert record.transmission.leases == {"list": "friends"}
        assert record.transmission.resolved
        assert usage.get(1)[0].day == 3

    def test_a_list_that_is_missing_or_not_the_senders_is_refused(self) -> None:
        saved()
        assert refused_request(body(recipients={"list_id": "enemies"})) == (422, "1603")
        domains.create(domain("sub.test", subaccount_id=make_subaccount().id))
        caller = Caller(Scope(1, 1), "key", frozenset())
        request_body = content(**{"from": "a@sub.test"}) | {"recipients": {"list_id": "friends"}}
        assert refused_request(request_body, caller) == (422, "1603")

    def test_a_refused_transmission_releases_its_list(self) -> None:
        saved()
        request_body = content(**{"from": "a@elsewhere.test"}) | {
            "recipients": {"list_id": "friends"}
        }
        assert refused_request(request_body) == (400, "7001")
        lists.check_unused(1, "friends")


@pytest.mark.spec("3-t9")
@pytest.mark.spec("2.1-t19")
class TestScheduling:
    OPTIONS: ClassVar = {"start_time": clock.iso_offset(CREATED / 1000 + 3600)}

    @pytest.fixture(autouse=True)
    def _an_hour_before(self, _with_a_domain: None) -> Iterator[None]:
        with clock.use(lambda: CREATED / 1000):
            yield

    def test_a_scheduled_transmission_is_stored_with_its_recipients_and_due_at_its_time(
        self,
    ) -> None:
        limit(monthly=10**9)
        acceptance = accept(CALLER, body(options=self.OPTIONS))
        start = CREATED + 3_600_000
        assert (acceptance.count, acceptance.start_ms) == (1, start)
        assert queued_work() == []
        assert due.find("transmissions", start - 1) == []
        assert [entry.key for entry in due.find("transmissions", start)] == [acceptance.id]
        assert [*transmissions.get_recipients(acceptance.id)] == [b'{"email":"r@example.test"}']
        record = transmissions.get(acceptance.id)
        assert record is not None
        assert (record.state, record.transmission.start_ms) == ("submitted", start)
        assert usage.get(1)[0].day == 1

    def test_a_scheduled_transmission_is_not_resolved_and_leases_its_template(self) -> None:
        TestTemplates().make()
        recipient_list = saved()
        to = {"list_id": "friends"}
        content = {"template_id": "welcome"}
        acceptance = accept(CALLER, body(content=content, recipients=to, options=self.OPTIONS))
        record = transmissions.get(acceptance.id)
        assert record is not None
        transmission = record.transmission
        assert (transmission.resolved, transmission.content, transmission.options) == (
            False,
            content,
            {"ip_pool": "default"},
        )
        assert transmission.leases == {"template": [None, "welcome"], "list": "friends"}
        assert record.list_ref["version"] == recipient_list.version
        with pytest.raises(ServiceError, match="in use"):
            template_leases.delete(Scope(1, 0), "welcome")

    def test_a_refused_request_releases_its_leases(self) -> None:
        TestTemplates().make(**{"from": "a@elsewhere.test"})
        saved()
        for to in ({"list_id": "friends"}, [{"address": "r@example.test"}], []):
            request_body = {"content": {"template_id": "welcome"}, "options": self.OPTIONS}
            refused_request(request_body | {"recipients": to})
        assert due.find("transmissions", CREATED * 2) == []
        lists.check_unused(1, "friends")
        assert template_leases.delete(Scope(1, 0), "welcome")

    def test_a_start_time_that_has_passed_means_now(self) -> None:
        past = clock.iso_offset(CREATED / 1000 - 1)
        request_body = accepted(body(options={"start_time": past}))
        assert request_body.transmission.start_ms == 0
        assert "start_time" not in request_body.transmission.options


def test_a_transmission_under_an_id_of_its_own_is_sent_once() -> None:
    limit(monthly=10**9)
    acceptances = [accept(CALLER, body(), "191930000000000009") for _ in range(2)]
    assert {acceptance.id for acceptance in acceptances} == {"191930000000000009"}
    units = {queues.read(each).head["chunk"] for each in queued_work()}
    assert units == {0}
    assert usage.get(1)[0].day == 1


def test_a_repeat_is_not_refused_for_the_recipients_that_it_counted_before() -> None:
    limit(daily=1)
    for _ in range(2):
        accept(CALLER, body(), "191930000000000009")
    assert len(queued_work()) == 2
    assert refused_request(body()) == (420, "2101")
    assert usage.get(1)[0].day == 1


def test_a_refused_request_leaves_nothing_behind() -> None:
    assert refused_request(body(recipients=[{"address": "nobody"}])) == (400, "5002")
    assert refused_request(body(recipients=[])) == (400, "5002")
    assert refused_request({}) == (422, "1400")
