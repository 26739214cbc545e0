from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock, due
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from chalicelib.data_privacy import routes, service
from chalicelib.data_privacy.erasure import erase
from chalicelib.events import service as events
from chalicelib.events.positions import EventWindow
from chalicelib.seeding.model import Campaign
from chalicelib.seeding.store import samples
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import Subaccount
from chalicelib.suppression import service as suppression
from chalicelib.suppression.model import TYPES
from tests.unit.events.examples import NINE, event_at
from tests.unit.people import make_account
from tests.unit.suppression.examples import entries_of, entry, request, summary

ANN, BOB = "ann@x.test", "bob@x.test"
SAVED = {"results": {"message": "Request saved."}}


def events_of(account: int) -> list[tuple[str, str]]:
    rows = events.newest_first(account, EventWindow(0, 10**14))
    return sorted((each["rcpt_to"], each.get("subaccount_id", "")) for _, each in rows)


def place(account: int) -> None:
    for owner in (None, 7):
        suppression.put_all(
            account, owner, [entry(each, type) for each in (ANN, BOB) for type in TYPES]
        )
        part = {"subaccount_id": str(owner)} if owner else {}
        events.put_all(
            [
                event_at(NINE, index + (owner or 0), account=account, recipient=each, **part)
                for index, each in enumerate((ANN, BOB))
            ]
        )


def lists_with(account: int, recipient: str) -> set[int | None]:
    return {each.subaccount_id for each in entries_of(Scope(account, None), recipient)}


def outstanding() -> list[due.Due]:
    return due.find("privacy", clock.now_ms() + 10**9)


def test_a_recipient_is_forgotten_in_the_part_of_the_request(account: int) -> None:
    place(account)
    body = {"recipients": ["Ann@X.test"]}
    assert routes.request_to_be_forgotten(request(account, body, part=7)).body == SAVED
    assert lists_with(account, ANN) == {None}
    assert events_of(account) == [(ANN, ""), (BOB, ""), (BOB, "7")]
    routes.request_to_be_forgotten(request(account, body, part=0))
    assert lists_with(account, ANN) == set()
    assert lists_with(account, BOB) == {None, 7}
    assert events_of(account) == [(BOB, ""), (BOB, "7")]
    assert outstanding() == []


@pytest.mark.parametrize(
    ("headers", "remaining"), [({}, set()), ({"x-svc-subaccount": "0"}, {7})], ids=["none", "named"]
)
def test_all_subaccounts_are_included_unless_the_header_names_a_part(
    account: int, headers: dict[str, str], remaining: set[int]
) -> None:
    place(account)
    body = {"recipients": [ANN], "include_subaccounts": True}
    routes.request_to_be_forgotten(request(account, body, part=0, headers=headers))
    assert lists_with(account, ANN) == remaining


def test_samples_for_seed_messages_forget_the_recipient(account: int) -> None:
    make_account(account)
    campaign = Campaign(None, "spring", "mail.test")
    recipient = {"email": "Ann@X.test", "name": "Ann"}
    samples.put(account, campaign, "1919", 0, recipient)
    routes.request_to_be_forgotten(request(account, {"recipients": [BOB]}, part=0))
    sample = samples.newest(account, campaign)
    assert sample is not None
    assert samples.recipient_of(sample)["name"] == "Ann"
    routes.request_to_be_forgotten(request(account, {"recipients": [ANN]}, part=0))
    sample = samples.newest(account, campaign)
    assert sample is not None
    assert samples.recipient_of(sample) == {}


def test_a_recipient_is_forgotten_in_every_spelling_of_the_address(account: int) -> None:
    spellings = ("zoe@b\xfccher.test", "zoe@xn--bcher-kva.test")
    suppression.put_all(account, None, [entry(spellings[0])])
    events.put_all(
        [
            event_at(NINE, index, account=account, recipient=each)
            for index, each in enumerate(spellings)
        ]
    )
    routes.request_to_be_forgotten(request(account, {"recipients": ["Zoe@B\xdccher.test"]}, part=0))
    assert lists_with(account, spellings[1]) == set()
    assert events_of(account) == []


def test_an_address_that_is_longer_in_lower_case_can_opt_out(account: int) -> None:
    capitals = "\u023a" * 32 + "@x.test"
    routes.request_to_opt_out(request(account, {"recipients": [capitals]}, part=0))
    assert lists_with(account, capitals) == {None}
    assert outstanding() == []


@pytest.mark.spec("4.8-r1")
def test_entries_of_compliance_are_not_forgotten(account: int) -> None:
    suppression.impose_all(account, None, [entry(ANN, source="Compliance")])
    routes.request_to_be_forgotten(request(account, {"recipients": [ANN]}, part=0))
    assert lists_with(account, ANN) == {None}
    assert erase(Scope(account, None), ANN, compliance=True) == 1
    assert lists_with(account, ANN) == set()


def test_an_opt_out_suppresses_all_but_transactional_messages(account: int) -> None:
    body = {"recipients": ["Ann@X.test", BOB, ANN]}
    assert routes.request_to_opt_out(request(account, body, part=0)).body == SAVED
    for recipient in (ANN, BOB):
        entries = entries_of(Scope(account, None), recipient)
        assert sorted((each.type, each.source, each.description) for each in entries) == [
            ("non_transactional", "Manually Added", "Opt-out request"),
            ("open_tracking", "Tracking Consent Revoked", "Opt-out request"),
        ]
    assert outstanding() == []


@pytest.mark.spec("4.8-t6")
def test_an_opt_out_counts_once_in_the_summary(account: int) -> None:
    routes.request_to_opt_out(request(account, {"recipients": [ANN]}, part=0))
    numbers = {name: number for name, number in summary(account).items() if number}
    assert numbers == {"manually_added": 1, "total": 1}


def test_an_opt_out_of_all_subaccounts_is_written_to_each_list(account: int) -> None:
    for number in (account * 100, account * 100 + 1):
        subaccounts.create(Subaccount(number, account, "name", 1.0, 1.0))
    body = {"recipients": [ANN], "include_subaccounts": True}
    routes.request_to_opt_out(request(account, body, part=0))
    assert lists_with(account, ANN) == {None, account * 100, account * 100 + 1}


def test_a_request_that_is_not_done_in_time_goes_on_at_the_next_tick(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_STEP", 2)
    moment = [1_769_850_000.0]
    erased = []

    def slow(scope: Scope, recipient: str) -> int:
        erased.append(recipient)
        moment[0] += service.AT_ONCE_SECONDS / 3
        return 0

    monkeypatch.setattr(service, "erase", slow)
    everyone = [f"u{n}@x.test" for n in range(9)]
    with clock.use(lambda: moment[0]):
        service.save_request(service.FORGET, Scope(account, 0), everyone)
        assert erased == everyone[:4]
        (entry,) = outstanding()
        assert entry.data["recipients"] == everyone[4:]
        service.carry_out_due()
        assert outstanding() == []
    assert erased == everyone


def test_a_request_that_failed_is_done_at_the_next_tick(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("the process died")

    with monkeypatch.context() as patch:
        patch.setattr(suppression, "add_all", fail)
        with pytest.raises(RuntimeError):
            service.save_request(service.OPT_OUT, Scope(account, 7), [ANN])
        patch.setattr(service, "_ACTIONS", {service.OPT_OUT: fail})
        with pytest.raises(RuntimeError):
            service.save_request(service.OPT_OUT, Scope(account, 7), [BOB])
        service.carry_out_due()
        assert [entry.failures for entry in outstanding()] == [1, 1]
    in_a_second = clock.now() + 2
    with clock.use(lambda: in_a_second):
        service.carry_out_due()
    assert lists_with(account, ANN) == lists_with(account, BOB) == {7}
    assert outstanding() == []


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"recipients": [f"u{n}@x.test" for n in range(1001)]}, "maximum number of recipients"),
        ({"recipients": []}, "recipients must be an array"),
        ({}, "recipients must be an array"),
        ([], "recipients must be an array"),
        ({"recipients": [ANN], "include_subaccounts": "yes"}, "include_subaccounts must be"),
    ],
)
def test_a_request_that_cannot_be_read_is_refused(account: int, body: Any, errors: str) -> None:
    for view in (routes.request_to_opt_out, routes.request_to_be_forgotten):
        with pytest.raises(ServiceError) as error_info:
            view(request(account, body, part=0))
        assert error_info.value.status == 400
        assert errors in error_info.value.errors[0]["message"]


def test_invalid_addresses_are_named(account: int) -> None:
    with pytest.raises(ServiceError) as error_info:
        routes.request_to_opt_out(request(account, {"recipients": [ANN, "x", 5]}, part=0))
    assert error_info.value.errors == [
        {"message": "invalid email address", "recipient": "x"},
        {"message": "invalid email address", "recipient": 5},
    ]
    assert lists_with(account, ANN) == set()
