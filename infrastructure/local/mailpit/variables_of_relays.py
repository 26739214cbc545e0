"""Translate Mailpit's variables about servers by which mail is released and forwarded.

There is one such server here. That of releases is used if both are named. Nothing leaves without a
list of allowed recipients.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from infrastructure.local.mailpit.variable_notices import is_on

_RELAY, _FORWARD = "MP_SMTP_RELAY_", "MP_SMTP_FORWARD_"
_FIELDS = (
    *("HOST", "PORT", "STARTTLS", "TLS", "AUTH", "USERNAME", "PASSWORD", "SECRET"),
    *("ALLOWED_RECIPIENTS", "TO"),
)
_NO_LOGIN = ("", "none")


class Translation(Protocol):
    """What is translated."""

    environ: dict[str, str]

    def take(self, name: str) -> str:
        """Return the value of a variable of Mailpit's, once."""

    def put(self, name: str, value: str) -> None:
        """Set a variable of ours, unless the user did."""

    def note(self, name: str, reason: str) -> None:
        """Tell the user about a variable."""


def translate(translation: Translation) -> None:
    """Translate the variables."""
    relay = _fields(translation, _RELAY)
    forward = _fields(translation, _FORWARD)
    forwards_all = is_on(translation.take(f"{_RELAY}ALL"))
    matching = translation.take(f"{_RELAY}MATCHING")
    if relay.get("HOST"):
        _release(translation, relay, "/.*/" if forwards_all else _expression(matching))
    if forward.get("HOST"):
        _forward(translation, forward)


def _release(translation: Translation, relay: Mapping[str, str], matching: str) -> None:
    allowed = translation.environ.get("RELEASE_RECIPIENTS") or _expression(
        relay.get("ALLOWED_RECIPIENTS", "")
    )
    if not allowed:
        reason = "nothing is released without MP_SMTP_RELAY_ALLOWED_RECIPIENTS"
        translation.note(f"{_RELAY}HOST", reason)
        return
    translation.put("RELEASE_HOST", _url(relay))
    translation.put("RELEASE_RECIPIENTS", allowed)
    if matching:
        translation.put("FORWARD_MATCHING", matching)


def _forward(translation: Translation, forward: Mapping[str, str]) -> None:
    if translation.environ.get("RELEASE_HOST"):
        translation.note(f"{_FORWARD}HOST", "RELEASE_HOST is the one server for all mail")
        return
    if not forward.get("TO"):
        translation.note(f"{_FORWARD}HOST", "MP_SMTP_FORWARD_TO names nobody")
        return
    translation.put("RELEASE_HOST", _url(forward))
    translation.put("RELEASE_RECIPIENTS", forward["TO"])
    translation.put("FORWARD_MATCHING", "*")
    translation.put("FORWARD_TO", forward["TO"])


def _fields(translation: Translation, prefix: str) -> dict[str, str]:
    """Return the variables of a server, by the ends of their names; its file comes first."""
    fields = {name: value for name in _FIELDS if (value := translation.take(f"{prefix}{name}"))}
    name = f"{prefix}CONFIG"
    path = translation.take(name)
    if not path:
        return fields
    try:
        return {**fields, **_fields_of_file(Path(path))}
    except (OSError, ValueError, AttributeError):
        translation.note(name, "the file is not there, or is no YAML")
        return fields


def _fields_of_file(path: Path) -> dict[str, str]:
    import yaml  # seldom needed

    try:
        document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    names = {name: str(name).upper().replace("-", "_") for name in document}
    return {names[name]: str(value) for name, value in document.items() if value not in (None, "")}


def _url(fields: Mapping[str, str]) -> str:
    scheme = "smtp"
    if is_on(fields.get("STARTTLS", "")):
        scheme = "smtp+starttls"
    elif is_on(fields.get("TLS", "")):
        scheme = "smtps"
    host, port = fields["HOST"], fields.get("PORT", "")
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{_login(fields)}{host}{f':{port}' if port else ''}"


def _login(fields: Mapping[str, str]) -> str:
    password = fields.get("PASSWORD") or fields.get("SECRET", "")
    if fields.get("AUTH", "").lower() in _NO_LOGIN or not fields.get("USERNAME"):
        return ""
    return f"{quote(fields['USERNAME'], safe='')}:{quote(password, safe='')}@"


def _expression(text: str) -> str:
    """Return a regular expression as a list of recipients has it."""
    return f"/{text}/" if text else ""
