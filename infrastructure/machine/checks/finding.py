"""Describe the result of one check of a machine."""

from __future__ import annotations

from typing import NamedTuple

OK, WARNING, PROBLEM, SKIPPED = "ok", "warning", "problem", "skipped"
#: The remedy of what the DNS did not answer
NO_ANSWER = "call again; if it stays so, check the resolvers of this machine, or set DNS_SERVERS"


class Finding(NamedTuple):
    """The result of one check; ``remedy`` says what to do about a problem or a warning.

    It has the fields of the findings that ``postfinch doctor`` writes.
    """

    check: str
    status: str
    detail: str
    remedy: str = ""
