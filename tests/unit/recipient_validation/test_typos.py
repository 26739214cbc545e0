"""Typos of well-known domains are told from real domains that resemble them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.recipient_validation.free_providers import DOMAINS, GIANTS
from chalicelib.recipient_validation.typos import edit_distance, intended_domain

#: Real domains of mail providers and companies that are a letter or two away from a giant
_REAL = (
    "mail.com email.com ymail.com fmail.com gmx.com gmx.net aon.com aol.de live.com line.com "
    "me.com mac.com mail.ru mail.de mail.ee hey.com yahoo.com yahoo.de yahoo.co.jp outlook.de "
    "hotmail.it hushmail.com fastmail.com protonmail.com prontomail.com homemail.com mailbox.org "
    "gail.com hitmail.com example.com cloud.com google.com gmailing.com"
)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("gmial.com", "gmail.com"),
        ("gamil.com", "gmail.com"),
        ("gmai.com", "gmail.com"),
        ("gmaill.com", "gmail.com"),
        ("gnail.com", "gmail.com"),
        ("gmail.con", "gmail.com"),
        ("gmail.co", "gmail.com"),
        ("gmail.cmo", "gmail.com"),
        ("hotmial.com", "hotmail.com"),
        ("hotmai.com", "hotmail.com"),
        ("yaho.com", "yahoo.com"),
        ("yahooo.com", "yahoo.com"),
        ("outlok.com", "outlook.com"),
        ("iclod.com", "icloud.com"),
    ],
)
@pytest.mark.parametrize("takes_mail", [False, True])
def test_slips_of_the_giants_are_found_although_they_take_mail(
    typo: str, meant: str, takes_mail: bool
) -> None:
    assert intended_domain(typo, takes_mail=takes_mail) == meant


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("hotmial.co.uk", "hotmail.co.uk"),
        ("yahoo.co.ukk", "yahoo.co.uk"),
        ("t-onlin.de", "t-online.de"),
        ("protonmial.com", "protonmail.com"),
        ("comcast.ent", "comcast.net"),
        ("gmx.ed", "gmx.de"),
        ("mgail.com", "gmail.com"),
        ("iclould.com", "icloud.com"),
    ],
)
def test_typos_of_other_providers_count_only_without_mail(typo: str, meant: str) -> None:
    assert intended_domain(typo, takes_mail=False) == meant
    assert intended_domain(typo, takes_mail=True) is None


@pytest.mark.parametrize("domain", _REAL.split())
def test_a_real_domain_with_mail_is_no_typo(domain: str) -> None:
    assert intended_domain(domain, takes_mail=True) is None


@pytest.mark.parametrize("domain", ["hotmail.ie", "yahoo.ae", "acme.test", "inbox.test", "", "a.b"])
def test_no_other_country_and_no_unlike_domain_is_proposed(domain: str) -> None:
    assert intended_domain(domain, takes_mail=False) is None


@given(st.sampled_from(DOMAINS))
def test_a_provider_is_no_typo_of_another(domain: str) -> None:
    assert not intended_domain(domain, takes_mail=False)
    assert not intended_domain(domain, takes_mail=True)


@given(st.sampled_from(GIANTS), st.integers(2, 6))
def test_a_giant_whose_letters_are_swapped_is_recognised(giant: str, place: int) -> None:
    name, _, _ = giant.partition(".")
    place = min(place, len(name) - 1)
    swapped = name[: place - 1] + name[place] + name[place - 1] + name[place + 1 :]
    if swapped != name and len(name) > 4:
        assert intended_domain(f"{swapped}.com", takes_mail=False) == giant


@given(st.text("abc.", max_size=8), st.text("abc.", max_size=8))
def test_the_distance_is_symmetric_and_within_its_bounds(text: str, other: str) -> None:
    distance = edit_distance(text, other)
    assert distance == edit_distance(other, text)
    assert abs(len(text) - len(other)) <= distance <= max(len(text), len(other))
    assert (distance == 0) == (text == other)
