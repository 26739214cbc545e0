"""Put the port of Mailpit's API together, over the mailbox of the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.gateway.application import AsgiCallable
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailpit.accepting import Acceptance, sending_with
from infrastructure.local.mailpit.application_routes import ApplicationRoutes
from infrastructure.local.mailpit.changes import Changes
from infrastructure.local.mailpit.check_routes import CheckRoutes
from infrastructure.local.mailpit.choices import MailpitChoices
from infrastructure.local.mailpit.entrance import Entrance
from infrastructure.local.mailpit.list_routes import ListRoutes
from infrastructure.local.mailpit.listeners import Listeners
from infrastructure.local.mailpit.message_routes import MessageRoutes
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.news import News
from infrastructure.local.mailpit.port import MailpitPort
from infrastructure.local.mailpit.router import MailpitRouter
from infrastructure.local.mailpit.run_figures import RunFigures
from infrastructure.local.mailpit.tag_rules import TagRules, read_rules
from infrastructure.local.mailpit.webhook import Webhook
from infrastructure.local.mailpit.webhook_choices import WebhookChoices
from infrastructure.local.messages.details import Detailer
from infrastructure.local.releasing.chaos import ChaosFile
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.this_machine import LocalAccess


@dataclass(frozen=True, slots=True)
class MailpitService:
    """The port, and what runs beside it."""

    port: MailpitPort
    news: News
    webhook: Webhook

    async def start(self) -> None:
        """Begin what runs without a request."""
        await self.news.start()
        await self.webhook.start()

    async def stop(self) -> None:
        """End all."""
        await self.webhook.stop()
        await self.news.stop()


def mailpit_service(
    data_dir: Path,
    environ: Mapping[str, str],
    mailbox: SinkMailbox,
    detailer: Detailer,
    service: AsgiCallable,
    *,
    access: LocalAccess,
    figures: RunFigures,
    has_console: bool,
    spam_check: str = "",
) -> MailpitService:
    """Return the port for the choices of an environment, which were checked before.

    ``service`` answers what is not Mailpit's.
    """
    choices, release = MailpitChoices.read(environ), ReleaseChoices.read(environ)
    rules = TagRules(mailbox, detailer, read_rules(environ))
    messages = Messages(mailbox, detailer, rules.catch_up)
    listeners = Listeners()
    changes = Changes(mailbox, listeners.publish)
    send = sending_with(environ.get("API_KEY", ""))
    acceptance = Acceptance(mailbox, CatchChoices.read(environ), TagChoices.read(environ), send)
    application = ApplicationRoutes(
        messages,
        figures,
        data_dir / "mail",
        release=release,
        label=choices.label,
        spam_check=spam_check,
        has_metrics=choices.metrics,
    )
    checks = CheckRoutes(messages, release, ChaosFile(data_dir), acceptance, spam_check)
    entrance = Entrance(messages, has_console=has_console)
    router = MailpitRouter(
        [
            *ListRoutes(messages, changes).routes(),
            *MessageRoutes(messages, changes).routes(),
            *application.routes(),
            *checks.routes(),
            *entrance.routes(),
        ]
    )
    port = MailpitPort(
        *(router, listeners, service),
        choices=choices,
        access=access,
        cookies_of_console=entrance.cookies_of_console if has_console else lambda request: (),
    )
    webhook = Webhook(messages, WebhookChoices.read(environ), label=choices.label)
    return MailpitService(port, News(messages, listeners, rules, changes), webhook)
