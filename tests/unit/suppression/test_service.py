from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.errors import ApiError, NotFound
from chalicelib.core.scope import Scope
from chalicelib.suppression import service, writing
from chalicelib.suppression.model import BLOCKING, TYPES, Entry
from chalicelib.suppression.store import counts
from chalicelib.suppression.store.items import parts_in, read_recipient
from tests.fake_cloud import aws_requests
from tests.unit.suppression.examples import entry

ANN = "ann@x.test"
BOTH = list(BLOCKING)


def shown(account: int, recipient: str = ANN, part: int | None = 0) -> list[tuple[Any, ...]]:
    found = service.of_recipient(Scope(account, part), recipient)
    return sorted((e.type, e.list_id, e.source, e.description or "") for e in found)


def total(account: int, part: int | None = None) -> int:
    scope = Scope(account, part)
    return counts.summary(scope, parts_in(scope))["total"]


def blocked(
    account: int,
    *recipients: str,
    owner: int | None = None,
    transactional: bool = False,
    list_id: str = "",
) -> list[str]:
    found = service.blocking(account, owner, recipients, transactional=transactional)
    return [each for each in recipients if each in found and found[each].holds_back(list_id)]


@pytest.fixture
def ticking() -> Iterator[None]:
    """Let each look at the clock be a second later."""
    moment = iter(range(1_769_850_300, 1_769_950_300))
    with clock.use(lambda: float(next(moment))):
        yield


def test_an_entry_comes_back_as_it_was_put(account: int) -> None:
    made = entry("Ann@X.test", "transactional", description="asked to", list_id="News.1")
    service.put_all(account, None, [made])
    assert service.of_recipient(Scope(account, 0), "ANN@x.test") == [made]
    service.put_all(account, 7, [made])
    assert service.of_recipient(Scope(account, 7), ANN) == [replace(made, subaccount_id=7)]
    assert made.recipient == ANN


@pytest.mark.usefixtures("ticking")
def test_an_update_changes_the_description_and_the_time_and_nothing_else(account: int) -> None:
    first = entry(ANN, source="Bounce Rule", description="550 unknown")
    service.add_all(account, None, [first])
    service.put_all(account, None, [second := entry(ANN, description="checked")])
    (found,) = service.of_recipient(Scope(account, 0), ANN)
    assert (found.source, found.description) == ("Bounce Rule", "checked")
    assert (found.created_ms, found.updated_ms) == (first.created_ms, second.updated_ms)
    service.put_all(account, None, [entry(ANN)])
    assert shown(account) == [("non_transactional", "", "Bounce Rule", "checked")]
    service.put_all(account, None, [entry(ANN, description="")])
    assert shown(account) == [("non_transactional", "", "Bounce Rule", "")]
    assert total(account) == 1


def test_of_several_entries_for_one_place_the_last_counts(account: int) -> None:
    service.put_all(account, None, [entry(ANN, description=str(n)) for n in range(250)])
    assert shown(account) == [("non_transactional", "", "Manually Added", "249")]
    assert total(account) == 1


def test_an_entry_holds_back_messages_of_its_type_only(account: int) -> None:
    for type in TYPES:
        service.put_all(account, None, [entry(f"{type}@x.test", type)])
    everyone = [f"{type}@x.test" for type in TYPES]
    assert blocked(account, *everyone, transactional=True) == ["transactional@x.test"]
    assert blocked(account, *everyone, transactional=False) == ["non_transactional@x.test"]


def test_recipients_are_found_in_any_case_and_named_as_asked(account: int) -> None:
    service.put_all(account, None, [entry("ann@x.test")])
    assert blocked(account, "Ann@X.test", "ann@x.test") == ["Ann@X.test", "ann@x.test"]


def test_a_recipient_is_one_however_the_address_is_spelled(account: int) -> None:
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
    (found,) = service.of_recipient(Scope(account, 0), spellings[1])
    assert found.recipient == spellings[0].lower()
    assert found.domain == "xn--bcher-kva.test"
    service.put_all(account, None, [entry(spellings[1], description="again")])
    assert total(account) == 2
    service.remove(account, None, spellings[2], BLOCKING)
    assert blocked(account, *spellings) == []


def test_quotes_that_an_address_does_not_need_are_no_part_of_it(account: int) -> None:
    service.put_all(account, None, [entry("ann.lee@x.test"), entry('"b c"@x.test')])
    same = ['"Ann.Lee"@x.test', '"a\\nn.lee"@X.test', '"b c"@x.test']
    assert blocked(account, *same, '"c"@x.test', "b.c@x.test") == same


def test_who_is_known_is_added_however_long_the_address_is_in_lower_case(account: int) -> None:
    capitals = "\u023a" * 32 + "@x.test"
    service.add(account, None, capitals.lower(), "non_transactional", "Bounce Rule", "550")
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


@pytest.mark.parametrize("list_id", ["", "news", "sports"])
def test_a_hundred_recipients_are_checked_in_one_request(account: int, list_id: str) -> None:
    everyone = [f"user-{n}@x.test" for n in range(100)]
    service.put_all(account, None, [entry(each) for each in everyone[::2]])
    service.put_all(account, None, [entry(each, list_id="sports") for each in everyone])
    expected = everyone if list_id == "sports" else everyone[::2]
    with aws_requests() as made:
        assert blocked(account, *everyone, list_id=list_id) == expected
    assert [request.operation for request in made] == ["BatchGetItem"]
    with aws_requests() as made:
        assert blocked(account, list_id="news") == []
    assert made == []


def test_open_tracking_holds_no_message_back_and_says_so_by_itself(account: int) -> None:
    primary, other = (
        service.Recipient(account, None, "Ann@x.test"),
        service.Recipient(account, 7, ANN),
    )
    assert service.suppressing_opens([primary, other]) == set()
    service.add(account, None, ANN, "open_tracking", "Tracking Consent Revoked", "asked to")
    assert service.suppressing_opens([primary, other]) == {primary}
    assert service.suppressing_opens([]) == set()
    assert blocked(account, ANN) == blocked(account, ANN, transactional=True) == []


@pytest.mark.spec("4.8-r6")
def test_each_subaccount_has_a_list_of_its_own(account: int) -> None:
    service.put_all(account, 7, [entry(ANN)])
    assert blocked(account, ANN) == blocked(account, ANN, owner=77) == []
    assert blocked(account, ANN, owner=7) == [ANN]
    assert blocked(account + 1, ANN, owner=7) == []
    service.put_all(account, None, [entry(ANN)])
    service.remove(account, 7, ANN, BOTH)
    assert blocked(account, ANN) == [ANN]
    assert blocked(account, ANN, owner=7) == []


@pytest.mark.spec("4.8-r6")
def test_a_recipient_is_shown_over_all_lists_or_in_one(account: int) -> None:
    for owner in (None, 7, 77):
        service.put_all(account, owner, [entry(ANN)])
    owners = {e.subaccount_id for e in service.of_recipient(Scope(account, None), ANN)}
    assert owners == {None, 7, 77}
    for part, owner in ((0, None), (7, 7), (77, 77)):
        (found,) = service.of_recipient(Scope(account, part), ANN)
        assert found.subaccount_id == owner
    assert service.of_recipient(Scope(account, 777), ANN) == []


def test_adding_again_or_from_another_source_changes_nothing(account: int) -> None:
    for source, text in (("Spam Complaint", "fbl"), ("List Unsubscribe", "x"), ("Compliance", "")):
        service.add(account, None, ANN, "non_transactional", source, text)
    assert shown(account) == [("non_transactional", "", "Spam Complaint", "fbl")]
    assert total(account) == 1
    with aws_requests() as made:
        service.add(account, None, ANN, "non_transactional", "Spam Complaint", "again")
    assert [request.operation for request in made] == ["BatchGetItem"]


def test_the_service_keeps_what_it_can_of_what_it_found_out(account: int) -> None:
    service.add(
        account, None, ANN, "non_transactional", "List Unsubscribe", "é" * 50_000, "News <n>"
    )
    ((type, list_id, source, description),) = shown(account)
    assert (type, list_id, source) == ("non_transactional", "", "List Unsubscribe")
    assert 1000 < len(description) < 50_000
    with pytest.raises(ValueError, match="Source must be"):
        service.add(account, None, ANN, "non_transactional", "Somebody", "")


def place_many(account: int) -> None:
    wide = [entry(ANN, type) for type in TYPES]
    listed = [entry(ANN, type, list_id=name) for type in BLOCKING for name in ("news", "sports")]
    service.put_all(account, None, wide + listed)
    assert len(shown(account)) == total(account) == 7


def left(account: int) -> list[str]:
    return [f"{type}/{list_id}" for type, list_id, _, _ in shown(account)]


@pytest.mark.spec("4.8-r4")
@pytest.mark.spec("4.8-r5")
@pytest.mark.parametrize(
    ("types", "list_id", "kept"),
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
def test_a_removal_takes_the_types_and_lists_that_it_names(
    account: int, types: list[str], list_id: str | None, kept: list[str]
) -> None:
    place_many(account)
    service.remove(account, None, "Ann@x.test", types, list_id)
    assert left(account) == kept
    assert total(account) == len(kept)
    with pytest.raises(NotFound, match="Recipient could not be found"):
        service.remove(account, None, ANN, types, list_id)


def test_what_is_removed_holds_nothing_back_and_leaves_nothing_behind(account: int) -> None:
    place_many(account)
    service.remove(account, None, ANN, BOTH, "news")
    assert blocked(account, ANN, list_id="news") == [ANN]
    service.remove(account, None, ANN, BOTH, "")
    assert blocked(account, ANN, list_id="news") == []
    assert blocked(account, ANN, list_id="sports") == [ANN]
    service.remove(account, None, ANN, BOTH)
    service.remove(account, None, ANN, ["open_tracking"])
    assert read_recipient(Scope(account, None), ANN) == {}
    assert total(account) == 0


@pytest.mark.spec("4.8-t4")
def test_removing_nobody_is_refused(account: int) -> None:
    service.put_all(account, 7, [entry(ANN)])
    for owner, types, list_id in (
        (None, BOTH, None),
        (7, BOTH, "news"),
        (7, ["transactional"], ""),
    ):
        with pytest.raises(NotFound, match="Recipient could not be found"):
            service.remove(account, owner, ANN, types, list_id)


@pytest.mark.spec("4.8-r1")
def test_customers_cannot_update_what_compliance_added(account: int) -> None:
    service.impose_all(account, None, [entry(ANN, source="Compliance", description="ours")])
    new = [entry(f"user-{n}@x.test") for n in range(300)]
    with pytest.raises(ApiError) as caught:
        service.put_all(account, None, [*new, entry("Ann@x.test", description="mine")])
    assert caught.value.status == 403
    assert caught.value.errors == [
        {"message": "Recipient could not be updated - Compliance", "description": ANN}
    ]
    assert shown(account) == [("non_transactional", "", "Compliance", "ours")]
    assert total(account) == 1
    service.put_all(account, None, [entry(ANN, "transactional"), entry(ANN, list_id="news")])
    assert total(account) == 3


@pytest.mark.spec("4.8-r1")
@pytest.mark.spec("4.8-t4")
def test_customers_cannot_remove_what_compliance_added(account: int) -> None:
    service.impose_all(account, None, [entry(ANN, "transactional", source="Compliance")])
    service.put_all(account, None, [entry(ANN)])
    with pytest.raises(ApiError) as caught:
        service.remove(account, None, ANN, BOTH)
    assert caught.value.status == 403
    assert caught.value.errors == [{"message": "Recipient could not be removed - Compliance"}]
    assert len(shown(account)) == 2
    service.remove(account, None, ANN, ["non_transactional"])
    assert shown(account) == [("transactional", "", "Compliance", "")]


def test_the_operator_writes_over_everything_and_the_counts_follow(account: int) -> None:
    service.put_all(account, None, [entry(ANN), entry(ANN, list_id="news")])
    service.impose_all(account, None, [entry(ANN, source="Compliance")])
    service.impose_all(account, None, [entry(ANN, source="Spam Complaint", description="y")])
    scope = Scope(account, None)
    found = counts.summary(scope, parts_in(scope))
    assert (found["manually_added"], found["compliance"], found["spam_complaint"]) == (1, 0, 1)
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
    assert service.erase(Scope(account, 77), ANN, compliance=compliance) == 0
    assert service.erase(Scope(account, None), "Ann@x.test", compliance=compliance) == erased
    assert total(account) == 10 - erased
    assert (read_recipient(Scope(account, None), ANN) == {}) == compliance
    assert blocked(account, "bob@x.test") == ["bob@x.test"]


@pytest.mark.spec("8-t10")
def test_customers_and_operators_stop_at_the_limit_but_the_service_does_not(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "MOST_ENTRIES", 4)
    service.put_all(account, 7, [entry(f"u{n}@x.test") for n in range(3)])
    for write in (service.put_all, service.impose_all):
        with pytest.raises(ApiError, match="at most 4 entries") as caught:
            write(account, None, [entry("new@x.test"), entry("other@x.test")])
        assert caught.value.status == 400
    assert total(account) == 3
    service.put_all(account, None, [entry("new@x.test")])
    service.put_all(account, None, [entry("new@x.test", description="an update takes no room")])
    service.add(account, None, ANN, "non_transactional", "Spam Complaint", "")
    assert total(account) == 5


def test_a_recipient_has_entries_for_a_bounded_number_of_lists(
    account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lists(*numbers: int) -> list[Entry]:
        return [entry(ANN, list_id=f"list-{n}") for n in numbers]

    monkeypatch.setattr(writing, "MOST_LISTS", 5)
    service.put_all(account, None, lists(*range(5)))
    service.put_all(account, None, lists(*range(5)))
    with pytest.raises(ApiError, match="at most 5 list_ids"):
        service.put_all(account, None, lists(4, 5))
    assert total(account) == 5


def test_hundreds_of_lists_of_one_recipient_come_and_go(account: int) -> None:
    owned = [entry(ANN, list_id=f"list-{n}") for n in range(230)]
    service.put_all(account, 7, [entry(ANN), *owned])
    assert len(shown(account, part=7)) == total(account, 7) == 231
    service.remove(account, 7, ANN, BOTH)
    assert read_recipient(Scope(account, None), ANN) == {}
