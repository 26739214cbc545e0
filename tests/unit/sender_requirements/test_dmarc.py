"""The DMARC record of a domain is found by the tree walk of RFC 9989."""

from __future__ import annotations

import pytest

from chalicelib.sender_requirements.dmarc import (
    BadPolicy,
    find_record,
    names_to_query,
    read_record,
)
from tests.unit.zones import Zone

NONE, REJECT = "v=DMARC1; p=none", "v=DMARC1; p=reject"


def place(zone: Zone, **records: str) -> str | None:
    """Publish records at names with ``_`` for dots; return whose record applies to a.b.c.test."""
    for name, text in records.items():
        zone.set(f"_dmarc.{name.replace('_', '.')}", ("TXT", text))
    record = find_record("a.b.c.test")
    return record.domain if record else None


def test_the_own_record_comes_before_those_above(zone: Zone) -> None:
    assert place(zone, a_b_c_test=NONE, c_test=REJECT) == "a.b.c.test"


def test_of_several_records_above_that_of_the_shortest_name_counts(zone: Zone) -> None:
    assert place(zone, b_c_test=NONE, c_test=REJECT) == "c.test"


def test_an_organizational_domain_may_mark_itself(zone: Zone) -> None:
    assert place(zone, b_c_test=f"{NONE}; psd=n", c_test=REJECT) == "b.c.test"


def test_the_record_of_a_public_suffix_counts_when_there_is_no_other(zone: Zone) -> None:
    assert place(zone, test=f"{NONE}; psd = y") == "test"
    assert place(zone, c_test=REJECT) == "c.test"


def test_below_a_public_suffix_only_the_record_of_the_next_name_counts(zone: Zone) -> None:
    assert place(zone, b_c_test=REJECT, test=f"{NONE}; psd=y") == "test"
    assert place(zone, c_test=REJECT) == "c.test"
    assert place(zone, c_test=f"{NONE}; psd=y") == "b.c.test"


def test_no_record_is_none(zone: Zone) -> None:
    assert place(zone, c_test="v=spf1 -all") is None


def test_two_records_at_one_name_are_not_applied(zone: Zone) -> None:
    zone.set("_dmarc.c.test", ("TXT", NONE), ("TXT", REJECT))
    assert find_record("a.b.c.test") is None
    with pytest.raises(BadPolicy, match="several"):
        find_record("c.test")


def test_a_walk_takes_eight_lookups_at_most() -> None:
    assert names_to_query("c.test") == ["c.test", "test"]
    names = names_to_query(".".join("abcdefghij"))
    assert names[:2] == ["a.b.c.d.e.f.g.h.i.j", "d.e.f.g.h.i.j"]
    assert (len(names), names[-1]) == (8, "j")


def test_subdomains_have_the_policy_that_the_record_states_for_them() -> None:
    record = read_record("c.test", "v=DMARC1; p=reject; sp=none; aspf=s")
    assert (record.policy_for("c.test"), record.policy_for("a.c.test")) == ("reject", "none")
    assert (record.is_strict("aspf"), record.is_strict("adkim")) == (True, False)


@pytest.mark.parametrize("rua", ["https://x.test/", "d@c.test", "mailto:d@c.test,ftp://x.test"])
def test_addresses_for_reports_that_nobody_uses_are_ignored(rua: str) -> None:
    assert read_record("c.test", f"v=DMARC1; p=reject; rua={rua}").policy_for("c.test") == "reject"


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        ("", "no p tag"),
        ("p=monitor;", "tag p must"),
        ("p=reject; sp=all;", "tag sp must"),
        ("p=reject; sp=reject; np=;", "tag np must"),
    ],
)
def test_without_a_valid_policy_a_record_with_an_address_for_reports_is_none(
    policy: str, problem: str
) -> None:
    record = read_record("c.test", f"v=DMARC1; {policy} adkim=s; rua=,mailto:d@c.test!10m")
    assert {record.policy_for("c.test"), record.policy_for("a.c.test")} == {"none"}
    assert problem in record.problem
    assert record.is_strict("adkim")
    for rua in ("", "rua=", "rua=d@c.test", "rua=mailto:"):
        with pytest.raises(BadPolicy, match=problem):
            read_record("c.test", f"v=DMARC1; {policy} {rua}")


@pytest.mark.parametrize("tag", ["sp=all", "adkim=x", "oops", "=x", "psd=maybe"])
def test_a_record_with_a_wrong_tag_is_refused(tag: str) -> None:
    with pytest.raises(BadPolicy):
        read_record("c.test", f"{NONE}; {tag}")
