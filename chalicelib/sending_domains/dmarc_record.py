"""Recommend the DMARC record of a sending domain: the weakest policy, with reports to this service.

Mailbox providers ask bulk senders for a policy. Every page, command and document recommends this
record, so that nobody publishes one and is told to publish another.
"""

from __future__ import annotations

from typing import Final

from chalicelib.core.domain_names import have_one_owner

LOCAL_PART: Final = "dmarc"


def dmarc_record(name: str, return_path: str) -> str:
    """Return the text to publish at ``_dmarc.<name>`` (RFC 7489 6.3).

    ``return_path`` is the domain of the envelope senders of mail from ``name``.
    """
    return f"v=DMARC1; p=none; rua=mailto:{report_address(name, return_path)}"


def report_address(name: str, return_path: str) -> str:
    """Return the address that reports about a domain are to be sent to.

    This service takes them at every domain that takes bounces. Reporters send none to a domain of
    another owner unless that publishes a record (RFC 7489 7.1). So where the return path is not the
    owner's, it is the bounce domain that the owner is advised to make.
    """
    owned = return_path if have_one_owner(name, return_path) else f"bounces.{name}"
    return f"{LOCAL_PART}@{owned}"
