"""What counts as an address is what email-validator, a library of others, counts as one.

Both are as strict, but for what the service does on purpose: it takes quoted local parts without
spaces around them, domains that are reserved (``.test``), and names whose last label is a number.
"""

from __future__ import annotations

from email_validator import EmailNotValidError, validate_email
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from chalicelib.core.addresses import is_address
from chalicelib.recipient_validation.model import History, MailRoute, judge

LETTERS = st.sampled_from("ab1.-_+@!#'\" \\()<>,;:é")


def accepts(address: str) -> bool:
    """Tell whether the judge takes an address."""
    try:
        validate_email(
            address,
            check_deliverability=False,
            allow_quoted_local=True,
            test_environment=True,
            strict=True,
        )
    except EmailNotValidError:
        return False
    return True


@settings(max_examples=400)
@given(st.text(LETTERS, min_size=1, max_size=12), st.text("ab1.-é", min_size=1, max_size=12))
@example("ann", "example.com")
@example("ann.", "example.com")
@example("a" * 65, "example.com")
@example("ann", "a" * 64 + ".com")
@example("ann", "-a.com")
def test_the_judge_and_the_service_agree(local: str, domain: str) -> None:
    address = f"{local}@{domain}.example.com"
    assume('"' not in local and "--" not in domain)
    is_syntax = judge(address, MailRoute.HOSTS, History()).reason != "Invalid Syntax"
    assert is_syntax == is_address(address) == accepts(address), address
