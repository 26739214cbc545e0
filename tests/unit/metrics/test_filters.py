from __future__ import annotations

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.metrics.filters import Filter, Group, read_simple, term
from chalicelib.metrics.model import DIMENSIONS, POSITION, Values, values_of


def values(**fields: str) -> Values:
    return tuple(fields.get(each.filter_key, "") for each in DIMENSIONS)


def test_an_empty_filter_passes_everything() -> None:
    assert read_simple({"from": "x", "metrics": "y"}) == Filter()
    assert Filter().holds(values(domains="x.test"))
    assert Filter().positions == frozenset()


@pytest.mark.parametrize("filter_key", [each.filter_key for each in DIMENSIONS])
@pytest.mark.spec("4.11-t5")
def test_every_dimension_has_a_simple_filter(filter_key: str) -> None:
    filter = read_simple({filter_key: "1, 2"})
    assert filter.holds(values(**{filter_key: "2"}))
    assert not filter.holds(values(**{filter_key: "3"}))
    assert not filter.holds(values(**{filter_key: "1, 2"}))


@pytest.mark.spec("4.11-t5")
def test_all_simple_filters_must_be_met() -> None:
    filter = read_simple({"campaigns": "a,b", "domains": "x.test"})
    assert filter.holds(values(campaigns="b", domains="x.test"))
    assert not filter.holds(values(campaigns="b", domains="y.test"))


@pytest.mark.spec("4.11-t3")
def test_filter_values_may_be_separated_by_another_delimiter() -> None:
    filter = read_simple({"campaigns": "a,b;c", "delimiter": ";"})
    assert filter.holds(values(campaigns="a,b"))
    assert filter.holds(values(campaigns="c"))
    assert not filter.holds(values(campaigns="a"))


def test_host_names_match_in_any_case() -> None:
    assert read_simple({"domains": "X.Test"}).holds(values(domains="x.test"))
    assert not read_simple({"campaigns": "A"}).holds(values(campaigns="a"))


def test_a_filter_finds_half_a_surrogate_pair_as_it_was_counted() -> None:
    mail_values = values_of({"type": "open", "campaign_id": "a\ud800"})
    assert Filter((Group((term("campaigns", "eq", ["a\ud800"]),)),)).holds(mail_values)
    assert mail_values[POSITION["campaign"]] == "a?"


def test_a_subaccount_is_the_same_with_leading_zeros() -> None:
    assert read_simple({"subaccounts": "07"}) == read_simple({"subaccounts": "7"})


@pytest.mark.parametrize("text", ["x", "-1", "1,two", "٧", "1" * 5000])
def test_a_subaccount_that_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(ApiError, match="subaccounts"):
        read_simple({"subaccounts": text})


@pytest.mark.parametrize(
    ("comparator", "passing", "failing"),
    [
        ("eq", "spring", "spring-sale"),
        ("notEq", "spring-sale", "spring"),
        ("like", "late-spring-sale", "autumn"),
        ("notLike", "autumn", "spring-sale"),
    ],
)
@pytest.mark.spec("4.11-r4")
def test_eq_compares_whole_values_and_like_parts_of_values(
    comparator: str, passing: str, failing: str
) -> None:
    filter = Filter((Group((term("campaigns", comparator, ["spring", "unheard of"]),)),))
    assert filter.holds(values(campaigns=passing))
    assert not filter.holds(values(campaigns=failing))


@pytest.mark.spec("4.11-r2")
@pytest.mark.spec("4.11-r3")
def test_all_groups_must_pass_and_each_says_how_its_terms_combine() -> None:
    campaign, domain = term("campaigns", "eq", ["a"]), term("domains", "eq", ["x.test"])
    either = Group((campaign, domain), any=True)
    both = Group((campaign, domain))
    assert Filter((either,)).holds(values(campaigns="a"))
    assert Filter((either,)).holds(values(domains="x.test"))
    assert not Filter((both,)).holds(values(campaigns="a"))
    assert not Filter((either, both)).holds(values(campaigns="a"))
    assert Filter((either, both)).holds(values(campaigns="a", domains="x.test"))


def test_a_filter_tells_the_only_values_that_can_pass_if_it_lists_them() -> None:
    position = POSITION["campaign"]
    a_or_b, b_or_c = term("campaigns", "eq", ["a", "b"]), term("campaigns", "eq", ["b", "c"])
    unlike, domain = term("campaigns", "notEq", ["a"]), term("domains", "eq", ["x.test"])
    assert Filter((Group((a_or_b, domain)),)).only(position) == {"a", "b"}
    assert Filter((Group((a_or_b,)), Group((b_or_c,)))).only(position) == {"b"}
    assert Filter((Group((a_or_b,), any=True),)).only(position) == {"a", "b"}
    assert Filter((Group((a_or_b, domain), any=True),)).only(position) is None
    assert Filter((Group((unlike,)),)).only(position) is None


def test_a_filter_can_be_confined_to_a_subaccount() -> None:
    filter = read_simple({"subaccounts": "7,8"}).confined_to(8)
    assert filter.holds(values(subaccounts="8"))
    assert not filter.holds(values(subaccounts="7"))
    assert Filter().confined_to(None) == Filter()


@pytest.mark.parametrize("domain", ["xn--bcher-kva.test", "bücher.test"])
@pytest.mark.parametrize(
    ("comparator", "text", "holds"),
    [
        ("eq", "BU\u0308CHER\u3002test", True),
        ("eq", "xn--bcher-kva.test", True),
        ("eq", "bücher", False),
        ("notEq", "bücher.test", False),
        ("like", "BÜC", True),
        ("like", "xn--b", True),
        ("like", "buc", False),
        ("notLike", "ücher.t", False),
    ],
)
def test_domains_match_in_every_spelling(
    comparator: str, text: str, holds: bool, domain: str
) -> None:
    assert term("domains", comparator, [text]).holds(values(domains=domain)) == holds


def test_other_values_are_compared_as_they_are() -> None:
    assert not term("campaigns", "eq", ["bücher"]).holds(values(campaigns="xn--bcher-kva"))
