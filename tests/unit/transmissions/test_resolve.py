"""Content is taken from where it is stored, and each option gets the value in force."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from chalicelib.templates.model import Edit, Template, new_template
from chalicelib.templates.request import Options as TemplateOptions
from chalicelib.templates.store import records as templates
from chalicelib.transmissions.model import SUBMITTED, Transmission
from chalicelib.transmissions.resolve import (
    ResolvedContent,
    find_content,
    options_in_force,
    refuse,
    resolve,
)
from chalicelib.transmissions.store.transmissions import Record
from tests.unit.ab_tests.examples import DAY, START, by_percent, stored
from tests.unit.transmissions.examples import DEFAULTS, OPTIONS, body, make_transmission, recipients

CONTENT = body()["content"]
RAW = "From: a@mail.example.test\nSubject: s\n\nHello\n"
Chosen = bool | None


def make_template(
    name: str = "welcome", *, content: Any = None, published: bool = True, **edit: Any
) -> Template:
    new = new_template(Scope(1, 0), name, Edit(published=published, **edit))
    assert templates.create(new, content or CONTENT)
    return new


def asking(**content: Any) -> Transmission:
    return make_transmission(resolved=False, options={}, defaults=DEFAULTS, content=content)


def refused(transmission: Transmission) -> Transmission:
    """Return a transmission to one recipient that is refused before it starts."""
    record = Record(transmission, SUBMITTED, 1, 1, 1, {})
    recipients(1).keep(transmission.id)
    return refuse(record, {"type": "bounce", "reason": "why"})


def found_of(transmission: Transmission) -> ResolvedContent:
    return find_content(transmission, "r@example.test")


class TestOptionsInForce:
    @pytest.mark.spec("2.1-t1")
    @pytest.mark.spec("2.3-t12")
    @pytest.mark.parametrize(("own", "template"), list(product((True, False, None), repeat=2)))
    @pytest.mark.parametrize("account", [True, False])
    @pytest.mark.parametrize(
        ("name", "of_account"),
        [
            ("open_tracking", "tracking"),
            ("click_tracking", "tracking"),
            ("transactional", "transactional"),
        ],
    )
    def test_the_transmission_counts_before_the_template_and_that_before_the_account(
        self, name: str, of_account: str, own: Chosen, template: Chosen, account: bool
    ) -> None:
        own_options = {} if own is None else {name: own}
        record = {} if template is None else {name: template}
        options = options_in_force(own_options, record, DEFAULTS | {of_account: account})
        expected = next(value for value in (own, template, account) if value is not None)
        assert options[name] is expected

    @pytest.mark.spec("2.1-t16")
    @pytest.mark.parametrize("name", list(TemplateOptions.model_fields))
    @pytest.mark.parametrize(("own", "template"), list(product((True, False, None), repeat=2)))
    def test_every_option_of_a_template_counts_where_the_transmission_has_none(
        self, name: str, own: Chosen, template: Chosen
    ) -> None:
        options = options_in_force({name: own}, {name: template}, DEFAULTS)
        choices = (own, template, OPTIONS[name])
        assert options[name] is next(value for value in choices if value is not None)

    def test_options_that_are_not_set_have_the_service_defaults(self) -> None:
        assert options_in_force({}, {}, DEFAULTS) == OPTIONS

    @pytest.mark.spec("2.1-t13")
    @pytest.mark.parametrize("by_account", [True, False])
    @pytest.mark.parametrize("opens", [True, False])
    def test_initial_opens_follow_opens_and_the_account_until_they_are_chosen(
        self, opens: bool, by_account: bool
    ) -> None:
        account = DEFAULTS | {"initial_open": by_account}
        own_options = {"open_tracking": opens}
        assert options_in_force(own_options, {}, account)["initial_open"] is (opens and by_account)
        for own in (True, False):
            options = options_in_force(own_options | {"initial_open": own}, {}, account)
            assert options["initial_open"] is own

    def test_an_account_that_tracks_no_clicks_cannot_be_overruled(self) -> None:
        account = DEFAULTS | {"tracks_clicks": False}
        options = options_in_force({"click_tracking": True}, {"click_tracking": True}, account)
        assert (options["click_tracking"], options["open_tracking"]) == (False, True)

    @pytest.mark.spec("2.6-t6")
    def test_a_sender_that_tracks_no_opens_cannot_be_overruled(self) -> None:
        account = DEFAULTS | {"tracks_opens": False}
        expected = {"open_tracking": True, "initial_open": True}
        options = options_in_force(expected, expected, account)
        assert (options["open_tracking"], options["initial_open"]) == (False, False)
        assert options["click_tracking"] is True

    @pytest.mark.spec("2.1-t15")
    @pytest.mark.parametrize(("own", "expected"), [("fast", "fast"), ("", "of-sender"), (None, "")])
    def test_the_pool_is_the_named_one_or_the_senders(self, own: Any, expected: str) -> None:
        own_options = {} if own is None else {"ip_pool": own}
        options = options_in_force(own_options, {}, DEFAULTS | {"ip_pool": "of-sender"})
        assert options["ip_pool"] == (expected or "of-sender")

    def test_other_options_stay_as_they_were_given(self) -> None:
        other = {"inline_css": True, "dkim_key": "s2", "sandbox": False}
        assert options_in_force(other, {}, DEFAULTS) == OPTIONS | other

    def test_only_enterprise_accounts_skip_suppression(self) -> None:
        own_options = {"skip_suppression": True}
        assert options_in_force(own_options, {}, DEFAULTS) == OPTIONS
        enterprise = DEFAULTS | {"enterprise": True}
        assert options_in_force(own_options, {}, enterprise) == OPTIONS | own_options


class TestResolvedContent:
    @pytest.mark.parametrize("sender", ["a@b.test", {"email": "a@b.test", "name": "Ann"}])
    def test_the_sender_of_inline_content_is_its_from(self, sender: Any) -> None:
        assert ResolvedContent({"from": sender}).sender == sender

    @pytest.mark.parametrize(
        "raw", [RAW, RAW.replace("\n", "\r"), RAW.replace("\n", "\r\n"), "From:\n " + RAW[6:]]
    )
    @pytest.mark.spec("2.2-r3")
    def test_the_sender_of_a_message_is_in_its_header(self, raw: str) -> None:
        assert ResolvedContent(raw=raw.encode()).sender == "a@mail.example.test"

    @pytest.mark.parametrize(
        "raw",
        [
            pytest.param("no header\n\nx", marks=pytest.mark.spec("2.2-r5")),
            pytest.param(
                "From: a@b.c\nContent-Type: multipart/mixed\n\nx", marks=pytest.mark.spec("2.2-r5")
            ),
            pytest.param("From: a@b.c\n\nx\n.\ny", marks=pytest.mark.spec("2.2-r4")),
            pytest.param(
                "From: a@b.c\nContent-Type: text/x-amp-html\n\nx", marks=pytest.mark.spec("2.2-r2")
            ),
            "From: a@b.c\nContent-Transfer-Encoding: base64\n\n$$$",
            "From: a@b.c\nContent-Type: a/b\nContent-Transfer-Encoding: rot13\n\nx",
        ],
    )
    def test_a_message_that_breaks_a_rule_is_refused(self, raw: str) -> None:
        with pytest.raises(ServiceError) as refusal:
            _ = ResolvedContent(raw=raw.encode()).sender
        assert (refusal.value.status, refusal.value.errors[0]["code"]) == (422, "3020")


@pytest.mark.usefixtures("cloud")
class TestFindingContent:
    def test_inline_content_is_found_in_the_transmission(self) -> None:
        assert found_of(asking(**CONTENT)) == ResolvedContent(CONTENT)

    def test_a_pre_built_message_is_found_as_bytes(self) -> None:
        content = found_of(asking(email_rfc822=RAW + "é\ud800"))
        assert (content.content, content.raw) == ({}, RAW.encode() + b"\xc3\xa9\xed\xa0\x80")

    def test_a_template_gives_its_published_content_options_and_version(self) -> None:
        make_template(options={"open_tracking": False})
        content = found_of(asking(template_id="welcome"))
        assert (content.content, dict(content.options)) == (CONTENT, {"open_tracking": False})
        assert content.template is not None
        assert (content.template.id, content.version) == ("welcome", "1")

    def test_a_draft_is_used_only_on_demand(self) -> None:
        make_template(published=False)
        assert found_of(asking(template_id="welcome", use_draft_template=True)).template
        with pytest.raises(ServiceError, match="published version"):
            found_of(asking(template_id="welcome"))

    def test_a_template_may_be_a_message(self) -> None:
        make_template(content={"email_rfc822": RAW})
        content = found_of(asking(template_id="welcome"))
        assert (content.content, content.raw) == ({}, RAW.encode())

    @pytest.mark.spec("4.1-r8")
    @pytest.mark.spec("7-t21")
    @pytest.mark.parametrize("name", ["unknown", "x" * 5000, "é#/?"])
    def test_a_template_that_is_missing_is_refused(self, name: str) -> None:
        with pytest.raises(ServiceError) as refusal:
            found_of(asking(template_id=name))
        assert (refusal.value.status, refusal.value.errors[0]["code"]) == (422, "1603")

    def test_a_template_of_the_primary_account_is_used_by_subaccounts_if_it_is_shared(self) -> None:
        make_template()
        make_template("shared", shared=True)
        of_subaccount = {"resolved": False, "subaccount_id": 7}
        transmission = make_transmission(content={"template_id": "shared"}, **of_subaccount)
        assert found_of(transmission).content == CONTENT
        with pytest.raises(ServiceError, match="does not exist"):
            found_of(make_transmission(content={"template_id": "welcome"}, **of_subaccount))


@pytest.mark.usefixtures("cloud")
class TestResolved:
    def test_content_options_and_their_origin_are_final(self) -> None:
        make_template(options={"open_tracking": False, "inline_css": True})
        transmission = asking(template_id="welcome")
        done = resolve(transmission, found_of(transmission))
        assert done.resolved
        assert (done.content, done.raw, done.substitute) == (CONTENT, b"", False)
        assert (done.template_id, done.template_version) == ("welcome", "1")
        expected = {"open_tracking": False, "initial_open": False, "inline_css": True}
        assert done.options == OPTIONS | expected

    def test_a_message_given_over_http_is_a_template(self) -> None:
        transmission = asking(email_rfc822=RAW)
        done = resolve(transmission, found_of(transmission))
        assert (done.content, done.raw, done.substitute) == ({}, RAW.encode(), True)
        assert (done.template_id, done.template_version) == ("", "")

    def test_a_shared_template_is_marked_so_that_it_finds_its_owner_s_snippets(self) -> None:
        make_template("shared", shared=True)
        for subaccount_id, shares in ((None, False), (7, True)):
            transmission = replace(asking(template_id="shared"), subaccount_id=subaccount_id)
            assert resolve(transmission, found_of(transmission)).shares_template is shares

    @pytest.mark.spec("2.3-t9")
    def test_the_last_use_of_a_template_is_recorded(self) -> None:
        make_template()
        transmission = asking(template_id="welcome")
        resolve(transmission, found_of(transmission))
        content = found_of(transmission).template
        assert content is not None
        assert content.last_use is not None

    def test_a_refused_transmission_has_its_refusal_and_options(self) -> None:
        done = refused(asking(template_id="gone"))
        assert (done.resolved, done.refusal["reason"]) == (True, "why")
        assert done.options == OPTIONS
        assert (done.template_id, done.template_version) == ("gone", "")

    def test_a_refused_transmission_has_its_content_and_is_no_use_of_its_template(self) -> None:
        make_template()
        done = refused(asking(template_id="welcome"))
        assert (done.content, done.template_id, done.template_version) == (CONTENT, "welcome", "1")
        template = templates.get(1, None, "welcome")
        assert template is not None
        assert template.last_use is None


@pytest.mark.usefixtures("cloud")
class TestAbTests:
    @pytest.fixture(autouse=True)
    def _with_templates(self, cloud: None) -> None:
        for name in ("t0", "t1"):
            make_template(name, content=CONTENT | {"subject": name})

    def test_a_running_test_gives_a_recipient_one_of_its_templates_each_time_the_same(self) -> None:
        stored(by_percent(50, 50))
        selection = set()
        for number in range(12):
            transmission = asking(ab_test_id="welcome")
            transmission = replace(
                transmission, created_ms=START, id=str(191930000000000000 + number)
            )
            first = find_content(transmission, f"r{number}@example.test")
            assert find_content(transmission, f"r{number}@example.test") == first
            assert first.ab_test == {"id": "welcome", "version": 1}
            assert first.template is not None
            assert first.content["subject"] == first.template.id
            selection.add(first.template.id)
        assert selection == {"t0", "t1"}

    def test_a_test_that_does_not_run_gives_its_default_template_and_counts_nothing(self) -> None:
        stored(by_percent(50, 50))
        transmission = asking(ab_test_id="welcome")
        for moment in (START - 1, START + 40 * DAY):
            content = find_content(replace(transmission, created_ms=moment), "r@example.test")
            assert (content.content["subject"], content.ab_test) == ("t0", {})
            assert resolve(transmission, content).ab_test == {}

    def test_the_template_is_chosen_as_of_the_start_time(self) -> None:
        stored(by_percent(50, 50))
        transmission = replace(asking(ab_test_id="welcome"), created_ms=START - DAY, start_ms=START)
        done = resolve(transmission, find_content(transmission, "r@example.test"))
        assert done.ab_test == {"id": "welcome", "version": 1}
        assert done.template_id in ("t0", "t1")

    def test_a_refused_transmission_has_the_from_and_no_template_as_none_was_chosen(self) -> None:
        stored(by_percent(50, 50))
        transmission = asking(ab_test_id="welcome")
        done = refused(replace(transmission, created_ms=START - DAY, start_ms=START))
        assert done.content["from"] == CONTENT["from"]
        assert (done.template_id, done.template_version, done.ab_test) == ("", "", {})

    @pytest.mark.spec("4.1-r8")
    @pytest.mark.spec("7-t21")
    def test_a_test_that_is_missing_is_refused(self) -> None:
        stored(by_percent(50, 50, subaccount_id=7))
        for name in ("unknown", "welcome"):
            with pytest.raises(ServiceError) as refusal:
                find_content(asking(ab_test_id=name), "r@example.test")
            assert (refusal.value.status, refusal.value.errors[0]["code"]) == (422, "1603")
