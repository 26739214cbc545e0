"""Which passwords a user may choose, and how they are password_hash."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher, extract_parameters

from chalicelib.core.params import Params
from chalicelib.users import passwords

GOOD = "correct horse of mine"  # pragma: allowlist secret


def fault(password: object, email: str = "ann.lee@acme.example", company: str = "Acme Mail") -> str:
    params = Params({"password": password})
    passwords.read_new(params, "password", email=email, company_name=company)
    (message,) = [each["message"] for each in params._faults] or [""]
    assert all(not each["value"] for each in params._faults)
    return message


@pytest.mark.parametrize(
    "password",
    [GOOD, "twelve chars", "ééééééééééé1", "000000000000000000001", "x" * 1000],
)
def test_a_long_password_needs_no_digits_and_no_signs(password: str) -> None:
    assert fault(password) == ""


@pytest.mark.parametrize("password", ["eleven char", "", None, "é" * 501, "e\u0301" * 11])
def test_a_short_and_a_very_long_password_is_refused(password: str | None) -> None:
    assert fault(password)


@pytest.mark.parametrize(
    "password", ["qwerty123456", "QWERTY123456", "123456789012", "1q2w3e4r5t6y"]
)
def test_a_common_password_is_refused_in_any_case(password: str) -> None:
    assert "most common" in fault(password)


@pytest.mark.parametrize(
    "password", ["ann.lee@acme.example", "Ann-Lee-123456", "acmemail2026!", "ACME mail 000"]
)
def test_the_own_address_and_the_name_of_the_company_are_refused(password: str) -> None:
    assert "must not be" in fault(password)


def test_the_list_of_common_passwords_is_long_enough_and_has_no_comments() -> None:
    common = passwords.common_passwords()
    assert len(common) == 10_000
    assert all(len(each) >= passwords.SHORTEST and each == each.lower() for each in common)
    assert not any("Copyright" in each or each.startswith("#  ") for each in common)


def test_a_password_is_stored_as_argon2id_with_the_parameters_of_owasp() -> None:
    password_hash = passwords.hash_of(GOOD)
    parameters = extract_parameters(password_hash)
    assert password_hash.startswith("$argon2id$")
    assert (parameters.memory_cost, parameters.time_cost, parameters.parallelism) == (19_456, 2, 1)
    assert PasswordHasher().verify(password_hash, GOOD)
    assert passwords.is_right(GOOD, password_hash)
    assert not passwords.is_right(GOOD + " ", password_hash)
    assert password_hash != passwords.hash_of(GOOD)
    assert not passwords.is_outdated(password_hash)


def test_an_accent_counts_as_the_same_in_both_of_its_forms() -> None:
    assert passwords.is_right("cafe\u0301 cafe\u0301 noir", passwords.hash_of("café café noir"))


def test_a_hash_of_other_parameters_is_outdated() -> None:
    assert passwords.is_outdated(PasswordHasher(time_cost=1, memory_cost=8192).hash(GOOD))


def test_without_a_stored_hash_no_password_is_right_after_the_same_work() -> None:
    nobodys = extract_parameters(passwords._NOBODYS)
    assert nobodys == extract_parameters(passwords.hash_of(GOOD))
    assert not passwords.is_right(GOOD, "")
    assert not passwords.is_right("", "")
