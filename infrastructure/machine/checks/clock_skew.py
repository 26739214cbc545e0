"""Compare the clock with that of the certificate authority, from the Date of its answer."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import requests

from chalicelib.core import clock
from infrastructure.machine.checks.finding import OK, PROBLEM, SKIPPED, Finding
from infrastructure.machine.checks.installation import Installation

MOST_SKEW = 60.0
_SECONDS = 5.0
_CHECK = "Clock"


def check_clock(installation: Installation) -> Finding:
    """Check that the clock is right within a minute; without a network it is not known."""
    machine = installation.machine
    began = clock.now()
    try:
        response = requests.head(
            machine.acme_directory, timeout=_SECONDS, verify=machine.acme_ca or True
        )
    except requests.exceptions.SSLError as error:
        remedy = "set the clock of this machine by NTP; if it is right, check ACME_CA"
        return Finding(_CHECK, PROBLEM, f"no trust in {machine.acme_directory}: {error}", remedy)
    except (requests.exceptions.RequestException, OSError):
        return Finding(_CHECK, SKIPPED, f"{machine.acme_directory} cannot be reached")
    return judge_date(response.headers.get("Date", ""), (began + clock.now()) / 2)


def judge_date(date: str, now: float) -> Finding:
    """Judge the clock at the time ``now``, in seconds, by the Date of an answer of now."""
    try:
        skew = now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return Finding(_CHECK, SKIPPED, "the answer has no Date")
    text = f"{abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
    if abs(skew) > MOST_SKEW:
        return Finding(_CHECK, PROBLEM, text, "set the clock of this machine by NTP")
    return Finding(_CHECK, OK, text)
