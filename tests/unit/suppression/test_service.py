from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ApiError, NotFound
from chalicelib.core.scope import Scope
from chalicelib.suppression import removal, service
from chalicelib.suppression.model import (
    BLOCKING,
    NON_TRANSACTIONAL,
    TYPES,
    Recipient,
    SuppressionEntry,
    entry_about,
)
from chalicelib.suppression.store import lookup_items
from chalicelib.suppression.store.items import read_recipient
from tests.fake_cloud import aws_requests
from tests.unit.suppression.examples import entries_of, entry, summary

ANN = "ann@x.test"
BOTH = list(BLOCKING)


def fields_of(account: int, recipient: str = ANN, part: int | None = 0) -> list[tuple[Any, ...]]:
    entries = entries_of(Scope(account, part), recipient)
    return sorted((e.type, e.list_id, e.source, e.description or "") for e in entries)


def total(account: int, part: int | None = None) -> int:
    return summary(account, part)["total"]


def blocked(
    account: int,
    *recipients: str,
    owner: int | None = None,
    transactional: bool = False,
    list_id: str = "",
) -> list[str]:
    holds = lookup_items.blocking(account, owner, recipients, transactional=transactional)
    return [each for each in recipients if each in holds and holds[each].holds_back(list_id)]


@pytest.fixture
def ticking() -> Iterator[None]:
    """Move the clock on by a second each time it is read."""
    seconds = iter(range(1_769_850_300, 1_769_950_300))
    with clock.use(lambda: float(next(seconds))):
        yield


def test_an_entry_is_read_as_it_was_put(account: int) -> None:
    new = entry("Ann@X.test", "transactional", description="asked to", list_id="News.1")
    service.put_all(account, None, [new])
    assert entries_of(Scope(account, 0), "ANN@x.test") == [new]
    service.put_all(account, 7, [new])
    assert entries_of(Scope(account, 7), ANN) == [replace(new, subaccount_id=7)]
    assert new.recipient == ANN


@pytest.mark.usefixtures("ticking")
def test_an_update_changes_the_description_and_the_time_and_nothing_else(account: int) -> None:
    first = entry(ANN, source="Bounce Rule", description="550 unknown")
    service.add_all(account, None, [first])
    service.put_all(account, None, [second := entry(ANN, description="checked")])
    (present,) = entries_of(Scope(account, 0), ANN)
    assert (present.source, present.description) == ("Bounce Rule", "checked")
    assert (present.created_ms, present.updated_ms) == (first.created_ms, second.updated_ms)
    service.put_all(account, None, [entry(ANN)])
    assert fields_of(account) == [("non_transactional", "", "Bounce Rule", "checked")]
    service.put_all(account, None, [entry(ANN, description="")])
    assert fields_of(account) == [("non_transactional", "", "Bounce Rule", "")]
    assert total(account) == 1


def test_the_last_of_several_entries_with_one_key_counts(account: int) -> None:
    service.put_all(account, None, [entry(ANN, description=str(n)) for n in range(250)])
    assert fields_of(account) == [("non_transactional", "", "Manually Added", "249")]
    assert total(account) == 1


def test_an_entry_holds_back_messages_of_its_type_only(account: int) -> None:
    for type in TYPES:
        service.put_all(account, None, [entry(f"{type}@x.test", type)])
    everyone = [f"{type}@x.test" for type in TYPES]
    assert blocked(account, *everyone, transactional=True) == ["transactional@x.test"]
    assert blocked(account, *everyone, transactional=False) == ["non_transactional@x.test"]


def test_recipients_match_in_any_case_and_are_returned_as_written(
    account: int,
) -> None:
    service.put_all(account, None, [entry("ann@x.test")])
    assert blocked(account, "Ann@X.test", "ann@x.test") == ["Ann@X.test", "ann@x.test"]


def test_all_spellings_of_an_address_are_one_recipient(account: int) -> None:
    spellings = (
        "Zoe\u0301@Bu\u0308cher.test",
        "zo\xe9@xn--bcher-kva.test",
        "ZO\xc9@B\xdcCHER.test",
    )
    service.put_all(account, None, [entry(spellings[0]), entry("plain@b\xfccher.test")])
    assert blocked(account, *spellings) == list(spellings)
    assert blocked(account, "plain@xn--bcher-kva.test", "zoe@b\xfccher.test") == [
        "plain@xn--bcher-kva.test"
    ]
    (present,) = entries_of(Scope(account, 0), spellings[1])
    assert present.recipient == "zo\xe9@xn--bcher-kva.test"
    assert present.domain == "xn--bcher-kva.test"
    service.put_all(account, None, [entry(spellings[1], description="again")])
    assert total(account) == 2
    removal.remove(account, None, spellings[2], BLOCKING)
    assert blocked(account, *spellings) == []


def test_quotes_that_an_address_does_not_need_are_ignored(account: int) -> None:
    service.put_all(account, None, [entry("ann.lee@x.test"), entry('"b c"@x.test')])
    same = ['"Ann.Lee"@x.test', '"a\\nn.lee"@X.test', '"b c"@x.test']
    assert blocked(account, *same, '"c"@x.test', "b.c@x.test") == same


def test_an_address_that_is_too_long_in_lower_case_can_be_added(account: int) -> None:
    capitals = "\u023a" * 32 + "@x.test"
    bounced = entry_about(capitals.lower(), NON_TRANSACTIONAL, "Bounce Rule")
    service.add_all(account, None, [bounced])
    assert blocked(account, capitals) == [capitals]


def test_an_entry_for_a_mailing_list_holds_back_that_lists_messages_only(account: int) -> None:
    service.put_all(account, None, [entry(ANN, list_id="News.1", description="why")])
    assert blocked(account, ANN) == []
    assert blocked(account, ANN, list_id="sports") == []
    assert blocked(account, ANN, list_id="news.1", transactional=True) == []
    assert blocked(account, ANN, list_id="NEWS.1") == [ANN]


def test_an_account_wide_entry_holds_back_the_messages_of_every_mailing_list(account: int) -> None:
    service.put_all(account, None, [entry(ANN, list_id="news"), entry(ANN)])
    for list_id in ("", "news", "sports"):
        assert blocked(account, ANN, list_id=list_id) == [ANN]


@pytest.mark.cost
@pytest.mark.parametrize("list_id", ["", "news", "sports"])
def test_a_hundred_recipients_are_checked_in_one_request(account: int, list_id: str) -> None:
    everyone = [f"user-{n}@x.test" for n in range(100)]
    service.put_all(account, None, [entry(each) for each in everyone[::2]])
    service.put_all(account, None, [entry(each, list_id="sports") for each in everyone])
    expected = everyone if list_id == "sports" else everyone[::2]
    with aws_requests() as requests:
        assert blocked(account, *everyone, list_id=list_id) == expected
    assert [request.operation for request in requests] == ["BatchGetItem"]
    with aws_requests() as requests:
        assert blocked(account, list_id="news") == []
    assert requests == []


def test_an_open_tracking_entry_suppresses_opens_and_holds_no_message_back(account: int) -> None:
    primary, other = (
        Recipient(account, None, "Ann@x.test"),
        Recipient(account, 7, ANN),
    )
    assert lookup_items.suppressing_opens([primary, other]) == set()
    service.add_all(account, None, [entry(ANN, "open_tracking", "Tracking Consent Revoked")])
    assert lookup_items.suppressing_opens([primary, other]) == {primary}
    assert lookup_items.suppressing_opens([]) == set()
    assert blocked(account, ANN) == blocked(account, ANN, transactional=True) == []


@pytest.mark.spec("4.8-r6")
def test_each_subaccount_has_a_list_of_its_own(account: int) -> None:
    service.put_all(account, 7, [entry(ANN)])
    assert blocked(account, ANN) == blocked(account, ANN, owner=77) == []
    assert blocked(account, ANN, owner=7) == [ANN]
    assert blocked(account + 1, ANN, owner=7) == []
    service.put_all(account, None, [entry(ANN)])
    removal.remove(account, 7, ANN, BOTH)
    assert blocked(account, ANN) == [ANN]
    assert blocked(account, ANN, owner=7) == []


@pytest.mark.spec("4.8-r6")
def test_the_entries_of_a_recipient_are_read_from_all_lists_or_one(account: int) -> None:
    for owner in (None, 7, 77):
        service.put_all(account, owner, [entry(ANN)])
    owners = {e.subaccount_id for e in entries_of(Scope(account, None), ANN)}
    assert owners == {None, 7, 77}
    for part, owner in ((0, None), (7, 7), (77, 77)):
        (present,) = entries_of(Scope(account, part), ANN)
        assert present.subaccount_id == owner
    assert entries_of(Scope(account, 777), ANN) == []


@pytest.mark.cost
def test_adding_again_or_from_another_source_changes_nothing(account: int) -> None:
    for source, text in (("Spam Complaint", "fbl"), ("List Unsubscribe", "x"), ("Compliance", "")):
        service.add_all(account, None, [entry(ANN, source=source, description=text)])
    assert fields_of(account) == [("non_transactional", "", "Spam Complaint", "fbl")]
    assert total(account) == 1
    with aws_requests() as requests:
        service.add_all(account, None, [entry(ANN, source="Spam Complaint", description="again")])
    assert [request.operation for request in requests] == ["BatchGetItem"]


def place_many(account: int) -> None:
    wide = [entry(ANN, type) for type in TYPES]
    for_lists = [entry(ANN, type, list_id=name) for type in BLOCKING for name in ("news", "sports")]
    service.put_all(account, None, wide + for_lists)
    assert len(fields_of(account)) == total(account) == 7


def types_and_lists(account: int) -> list[str]:
    return [f"{type}/{list_id}" for type, list_id, _, _ in fields_of(account)]


@pytest.mark.spec("4.8-r4")
@pytest.mark.spec("4.8-r5")
@pytest.mark.parametrize(
    ("types", "list_id", "remaining"),
    [
        (BOTH, None, ["open_tracking/"]),
        (
            BOTH,
            "",
            [
                "non_transactional/news",
                "non_transactional/sports",
                "open_tracking/",
                "transactional/news",
                "transactional/sports",
            ],
        ),
        (
            BOTH,
            "NEWS",
            [
                "non_transactional/",
                "non_transactional/sports",
                "open_tracking/",
                "transactional/",
                "transactional/sports",
            ],
        ),
        (
            ["transactional"],
            None,
            [
                "non_transactional/",
                "non_transactional/news",
                "non_transactional/sports",
                "open_tracking/",
            ],
        ),
        (
            ["transactional"],
            "sports",
            [
                "non_transactional/",
                "non_transactional/news",
                "non_transactional/sports",
                "open_tracking/",
                "transactional/",
                "transactional/news",
            ],
        ),
        (
            ["open_tracking"],
            "",
            [
                "non_transactional/",
                "non_transactional/news",
                "non_transactional/sports",
                "transactional/",
                "transactional/news",
                "transactional/sports",
            ],
        ),
    ],
)
def test_a_removal_removes_the_types_and_lists_that_it_names(
    account: int, types: list[str], list_id: str | None, remaining: list[str]
) -> None:
    place_many(account)
    removal.remove(account, None, "Ann@x.test", types, list_id)
    assert types_and_lists(account) == remaining
    assert total(account) == len(remaining)
    with pytest.raises(NotFound, match="Recipient could not be found"):
        removal.remove(account, None, ANN, types, list_id)


def test_a_removed_entry_holds_nothing_back_and_leaves_no_item(account: int) -> None:
    place_many(account)
    removal.remove(account, None, ANN, BOTH, "news")
    assert blocked(account, ANN, list_id="news") == [ANN]
    removal.remove(account, None, ANN, BOTH, "")
    assert blocked(account, ANN, list_id="news") == []
    assert blocked(account, ANN, list_id="sports") == [ANN]
    removal.remove(account, None, ANN, BOTH)
    removal.remove(account, None, ANN, ["open_tracking"])
    assert read_recipient(Scope(account, None), ANN) == {}
    assert total(account) == 0


@pytest.mark.spec("4.8-t4")
def test_a_removal_without_a_matching_entry_is_refused(account: int) -> None:
    service.put_all(account, 7, [entry(ANN)])
    for owner, types, list_id in (
        (None, BOTH, None),
        (7, BOTH, "news"),
        (7, ["transactional"], ""),
    ):
        with pytest.raises(NotFound, match="Recipient could not be found"):
            removal.remove(account, owner, ANN, types, list_id)


@pytest.mark.spec("4.8-r1")
def test_customers_cannot_update_what_compliance_added(account: int) -> None:
    service.impose_all(account, None, [entry(ANN, source="Compliance", description="ours")])
    new = [entry(f"user-{n}@x.test") for n in range(300)]
    with pytest.raises(ApiError) as error_info:
        service.put_all(account, None, [*new, entry("Ann@x.test", description="mine")])
    assert error_info.value.status == 403
    assert error_info.value.errors == [{"message": "Recipient could not be updated - Compliance"}]
    assert fields_of(account) == [("non_transactional", "", "Compliance", "ours")]
    assert total(account) == 1
    service.put_all(account, None, [entry(ANN, "transactional"), entry(ANN, list_id="news")])
    assert total(account) == 3


@pytest.mark.spec("4.8-r1")
@pytest.mark.spec("4.8-t4")
def test_customers_cannot_remove_what_compliance_added(account: int) -> None:
    service.impose_all(account, None, [entry(ANN, "transactional", source="Compliance")])
    service.put_all(account, None, [entry(ANN)])
    with pytest.raises(ApiError) as error_info:
        removal.remove(account, None, ANN, BOTH)
    assert error_info.value.status == 403
    assert error_info.value.errors == [{"message": "Recipient could not be removed - Compliance"}]
    assert len(fields_of(account)) == 2
    removal.remove(account, None, ANN, ["non_transactional"])
    assert fields_of(account) == [("transactional", "", "Compliance", "")]


def test_the_operator_replaces_entries_and_the_counts_follow(account: int) -> None:
    service.put_all(account, None, [entry(ANN), entry(ANN, list_id="news")])
    service.impose_all(account, None, [entry(ANN, source="Compliance")])
    service.impose_all(account, None, [entry(ANN, source="Spam Complaint", description="y")])
    numbers = summary(account)
    assert (numbers["manually_added"], numbers["compliance"]) == (1, 0)
    assert numbers["spam_complaint"] == 1
    assert blocked(account, ANN, list_id="news") == [ANN]


@pytest.mark.parametrize(("compliance", "erased"), [(False, 6), (True, 8)])
def test_a_recipient_is_erased_from_the_lists_of_a_scope(
    account: int, compliance: bool, erased: int
) -> None:
    for owner in (None, 7):
        service.put_all(
            account,
            owner,
            [
                *(entry(ANN, type) for type in ("open_tracking", "transactional")),
                entry(ANN, list_id="news"),
                entry("bob@x.test"),
            ],
        )
        service.impose_all(account, owner, [entry(ANN, source="Compliance")])
    assert removal.erase(Scope(account, 77), ANN, compliance=compliance) == 0
    assert removal.erase(Scope(account, None), "Ann@x.test", compliance=compliance) == erased
    assert total(account) == 10 - erased
    assert (read_recipient(Scope(account, None), ANN) == {}) == compliance
    assert blocked(account, "bob@x.test") == ["bob@x.test"]


@pytest.mark.spec("8-t10")
def test_the_limit_stops_customers_and_operators_but_not_the_service(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_ENTRIES", 4)
    service.put_all(account, 7, [entry(f"u{n}@x.test") for n in range(3)])
    for write in (service.put_all, service.load_all, service.impose_all):
        with pytest.raises(ApiError, match="at most 4 entries") as error_info:
            write(account, None, [entry("new@x.test"), entry("other@x.test")])
        assert error_info.value.status == 400
    assert total(account) == 3
    service.put_all(account, None, [entry("new@x.test")])
    service.put_all(account, None, [entry("new@x.test", description="an update takes no room")])
    service.add_all(account, None, [entry(ANN, source="Spam Complaint")])
    assert total(account) == 5


def test_a_recipient_has_entries_for_at_most_most_lists(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lists(*numbers: int) -> list[SuppressionEntry]:
        return [entry(ANN, list_id=f"list-{n}") for n in numbers]

    monkeypatch.setattr(service, "MOST_LISTS", 5)
    service.put_all(account, None, lists(*range(5)))
    service.put_all(account, None, lists(*range(5)))
    with pytest.raises(ApiError, match="at most 5 list_ids"):
        service.put_all(account, None, lists(4, 5))
    assert total(account) == 5


def test_entries_for_hundreds_of_lists_are_written_and_removed(account: int) -> None:
    entries = [entry(ANN, list_id=f"list-{n}") for n in range(230)]
    service.put_all(account, 7, [entry(ANN), *entries])
    assert len(fields_of(account, part=7)) == total(account, 7) == 231
    removal.remove(account, 7, ANN, BOTH)
    assert read_recipient(Scope(account, None), ANN) == {}
