"""Make what serves and keeps the mailbox beside the API: Mailpit's port, readers, upkeep.

What no start needs is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from chalicelib.core.settings import Settings
from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.gateway.activity import Activity
from infrastructure.local.gateway.application import AsgiCallable, Companion
from infrastructure.local.gateway.mailbox_upkeep import MailboxUpkeep
from infrastructure.local.gateway.mailpit_endpoint import MailpitEndpoint
from infrastructure.local.mail_readers.companion import MailReaders
from infrastructure.local.mailpit.run_figures import RunFigures
from infrastructure.local.messages.details import Detailer
from infrastructure.local.this_machine import LocalAccess

if TYPE_CHECKING:
    from infrastructure.local.mailpit.assembly import MailpitService


def mailpit_endpoint(
    environ: Mapping[str, str],
    current: Settings,
    detailer: Detailer,
    service: AsgiCallable,
    access: LocalAccess,
) -> MailpitEndpoint:
    """Return the port of Mailpit's API; ``service`` answers what is not Mailpit's."""

    figures = RunFigures.begin(detailer.mailbox, environ)

    def build() -> MailpitService:
        from infrastructure.local.mailpit.assembly import mailpit_service

        return mailpit_service(
            Path(environ["DATA_DIR"]),
            environ,
            detailer.mailbox,
            detailer,
            service,
            access=access,
            figures=figures,
            has_console=current.console,
            spam_check=current.spam_check,
        )

    at_start = any(map(environ.get, ("MAILBOX_TAGS", "MAILPIT_WEBHOOK")))
    return MailpitEndpoint(build, at_start=at_start)


def mailbox_companions(
    environ: Mapping[str, str], detailer: Detailer, activity: Activity, access: LocalAccess
) -> Iterator[Companion]:
    """Yield what keeps the mailbox in order, lets mail readers in, and forwards."""
    choices = CatchChoices.read(environ)
    yield MailboxUpkeep(
        detailer.mailbox,
        detailer,
        activity,
        max_messages=choices.max_messages,
        max_age=choices.max_age,
    )
    yield MailReaders.of_environment(environ, detailer.mailbox, access)
    if environ.get("FORWARD_MATCHING"):
        from infrastructure.local.releasing.choices import ReleaseChoices
        from infrastructure.local.releasing.forwarding import Forwarder

        release = ReleaseChoices.read(environ)
        yield Forwarder(detailer.mailbox, detailer, release, Path(environ["DATA_DIR"]) / "mail")
