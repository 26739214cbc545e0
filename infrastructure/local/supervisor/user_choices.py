"""Check what the user chose in the environment of a start, so that a mistake ends it with one line.

The processes read their own choices again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chalicelib.core import setting_conflicts, settings
from chalicelib.core.settings import Settings
from infrastructure.local.catching.choices import SEND, CatchChoices
from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mailpit.choices import MailpitChoices
from infrastructure.local.mailpit.webhook_choices import WebhookChoices
from infrastructure.local.releasing.start import release_choices
from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.local.this_machine import LocalAccess

if TYPE_CHECKING:
    from infrastructure.local.releasing.choices import ReleaseChoices

_LOG_OUTPUTS = ("files", "stdout")
_DURABILITIES = ("second", "answer")


@dataclass(frozen=True, slots=True)
class UserChoices:
    """The choices that a start itself needs; ``release`` is ``None`` if there are none."""

    settings: Settings
    access: LocalAccess
    release: ReleaseChoices | None

    @classmethod
    def read(cls, environ: Mapping[str, str], smtp_port: int) -> UserChoices:
        """Return the choices of an environment; raises :class:`ConfigError`."""
        try:
            choices = cls(
                settings=_load_settings(environ, smtp_port),
                access=LocalAccess.read(environ),
                release=release_choices(environ),
            )
            _check_catching(CatchChoices.read(environ), delivers=choices.settings.deliver)
            _check_mailpit(environ)
            ReaderChoices.read(environ)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        _require_one_of(environ, "LOG_OUTPUT", _LOG_OUTPUTS)
        _require_one_of(environ, "LOCAL_DURABILITY", _DURABILITIES)
        return choices


def _load_settings(environ: Mapping[str, str], smtp_port: int) -> Settings:
    """Check the caller's settings, also those that will not be used; raises ``ValueError``."""
    choices = {name: text for name, text in environ.items() if text or name != "PUBLIC_URL"}
    # Plain text is for the sink, which the caller does not name
    starting = {**settings.local_values(), "SMARTHOST_TLS": Settings().smarthost_tls}
    current = settings.load({**starting, "RELAY_PORTS": str(smtp_port), **choices})
    setting_conflicts.check_files(current)
    return current


def _check_catching(choices: CatchChoices, *, delivers: bool) -> None:
    """Raise ``ValueError`` for what does not go together with mail that is sent at once."""
    if delivers and choices.way == SEND:
        raise ValueError("CATCH=send would let mail of anyone out: not with DELIVER=true")


def _check_mailpit(environ: Mapping[str, str]) -> None:
    """Raise ``ValueError`` for what the port of Mailpit's API cannot work with."""
    MailpitChoices.read(environ)
    WebhookChoices.read(environ)
    if environ.get("MAILBOX_TAGS"):
        # Imported here: without rules no start needs them
        from infrastructure.local.mailpit.tag_rules import read_rules

        read_rules(environ)
    if environ.get("MAILBOX_TAGS_FROM"):
        from infrastructure.local.mailbox.tags import TagChoices

        TagChoices.read(environ)


def _require_one_of(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> None:
    text = environ.get(name) or choices[0]
    if text not in choices:
        raise ConfigError(f"{name}={text!r} is neither {' nor '.join(choices)}")
