"""Sandbox sends: a few messages of the sample template, before any domain is set up (spec 8).

The sample template sends from the service's own domain, so no domain of the sender is asked for,
and the messages count against the account's sandbox instead of its plan.
"""

from __future__ import annotations

from chalicelib.accounts.store.usage import Allowance, SandboxMeter
from chalicelib.core.errors import wrong_sandbox_template
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import Sender

#: The account that owns the service's own domain
SYSTEM_ACCOUNT = 0


def check_sandbox(sent: Transmission) -> None:
    """Raise 2106 for a sandbox send of anything but the sample template (spec 4.1, rule 10)."""
    if is_sandbox(sent) and sent.content.get("template_id") != settings().sandbox_template:
        text = f"a sandbox send needs template_id '{settings().sandbox_template}'"
        raise wrong_sandbox_template(text)


def is_sandbox(sent: Transmission) -> bool:
    """Tell whether a transmission is a sandbox send."""
    return bool(sent.options.get("sandbox"))


def allowance(sent: Transmission, sender: Sender) -> Allowance:
    """Return what the recipients of a transmission count against."""
    return SandboxMeter(sent.account_id) if is_sandbox(sent) else sender.meter


def owner_of_domain(sent: Transmission) -> tuple[int, int | None]:
    """Return the account and subaccount whose sending domain a transmission uses."""
    if is_sandbox(sent):
        return SYSTEM_ACCOUNT, None
    return sent.account_id, sent.subaccount_id
