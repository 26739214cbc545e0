"""Check that somebody can sign in to the console as an administrator."""

from __future__ import annotations

from chalicelib.users.store import users
from infrastructure.bootstrap import ACCOUNT_ID
from infrastructure.machine.checks.finding import OK, SKIPPED, WARNING, Finding
from infrastructure.machine.checks.installation import Installation

_CHECK = "Administrator"


def check_administrators(installation: Installation) -> Finding:
    """Count the administrators of the first account; what is stored must be in reach."""
    number = users.count_administrators(ACCOUNT_ID)
    if number:
        return Finding(_CHECK, OK, f"{number} can sign in to the console")
    text = "nobody can sign in to the console yet, except with an API key"
    return Finding(_CHECK, WARNING, text, f"print a link: {command(installation)}")


def say_how(installation: Installation) -> Finding:
    """Say how to make the first administrator once the service runs."""
    text = "the console asks who signs in"
    return Finding(_CHECK, SKIPPED, text, f"once the service runs: {command(installation)}")


def command(installation: Installation) -> str:
    """Return the command that prints a link for the operator's address."""
    email = installation.machine.admin_email or "you@example.com"
    return f"postfinch admin --local add-user {email}"
