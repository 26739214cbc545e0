"""Decide the values of a new configuration: what options say, what is there, or what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import typer

from infrastructure.local.supervisor.data_folder import ConfigError
from infrastructure.machine.settings import DATA_DIR, MX, SMTP

_OPTION_OF = {"system_domain": "--domain", "smarthost": "--smarthost"}
_DOMAIN = "The service's own mail domain, such as mail.example.com"
_ADMIN_EMAIL = "The administrator's address, for alarms and for the certificate authority"
_TRANSPORT = "How mail leaves: mx (to mail hosts, port 25), smtp (by a smarthost) or ses"
_SMARTHOST = "The smarthost, as host:port"
_USERNAME = "User name at the smarthost (empty: no login)"


@dataclass(frozen=True, slots=True)
class Answers:
    """The values of a configuration, by the names of the settings in lower case.

    ``options`` are those of the command line, ``present`` those of the configuration file,
    ``environ`` those of the environment, which wins over the file. Nobody is asked unless
    ``can_ask``.
    """

    options: Mapping[str, str]
    present: Mapping[str, str]
    environ: Mapping[str, str]
    can_ask: bool

    def values(self) -> dict[str, str]:
        """Return all values of the file to write; raises ``ConfigError`` if one is missing."""
        values = {**self.present, **self.options}
        values |= self._missing(values, "system_domain", _DOMAIN)
        values |= self._missing(values, "admin_email", _ADMIN_EMAIL, default="")
        values |= self._transport(values)
        if self._known(values, "transport") == SMTP:
            has_host = bool(self._known(values, "smarthost"))
            values |= self._missing(values, "smarthost", _SMARTHOST)
            if not has_host:
                values |= self._login(values)
        values |= self._missing(values, "data_dir", "Folder of all data", default=DATA_DIR)
        return {name: text for name, text in values.items() if text or name in self.present}

    def _transport(self, values: Mapping[str, str]) -> dict[str, str]:
        if "smarthost" in self.options and "transport" not in self.options:
            return {"transport": SMTP}
        default = SMTP if self._known(values, "smarthost") else MX
        return self._missing(values, "transport", _TRANSPORT, default=default)

    def _login(self, values: Mapping[str, str]) -> dict[str, str]:
        """Ask for the login at a new smarthost."""
        if not self.can_ask or self._known(values, "smarthost_username"):
            return {}
        if not (name := _ask(_USERNAME, "")):
            return {}
        password = typer.prompt("Password at the smarthost", hide_input=True, err=True)
        return {"smarthost_username": name, "smarthost_password": password}

    def _missing(
        self, values: Mapping[str, str], name: str, question: str, default: str | None = None
    ) -> dict[str, str]:
        """Return a value that is not known yet; without ``default`` there must be one."""
        if name in values or self._known(values, name):
            return {}
        if self.can_ask:
            return {name: _ask(question, default)}
        if default is None:
            raise ConfigError(f"{name.upper()} is not known: say it by {_OPTION_OF[name]}")
        return {name: default}

    def _known(self, values: Mapping[str, str], name: str) -> str:
        return self.environ.get(name.upper()) or values.get(name, "")


def _ask(question: str, default: str | None) -> str:
    return str(typer.prompt(question, default=default, err=True)).strip()
