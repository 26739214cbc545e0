"""Translate Mailpit's environment variables into this service's own, which win where both are set.

A variable whose wish is fulfilled anyhow is left out without a word. One that is unknown, or has no
counterpart, gets a line for the user. No line has a value, because it may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from infrastructure.local.mailpit import variables_of_relays
from infrastructure.local.mailpit.choices import ANYBODY
from infrastructure.local.mailpit.variable_notices import (
    FULFILLED,
    PREFIX,
    SWITCHES,
    is_on,
    reason_of,
)
from infrastructure.local.supervisor.data_folder import open_folder
from infrastructure.local.supervisor.private_files import replace_private

_FOLDER = "postfinch"
_WILDCARDS = ("", "0.0.0.0", "[::]", "127.0.0.1", "[::1]", "localhost")
#: The size in MB that the catching port takes
_MOST_MEGABYTES = "50"

_PORTS = {
    "MP_SMTP_BIND_ADDR": "CATCH_PORT",
    "MP_UI_BIND_ADDR": "MAILPIT_PORT",
    "MP_POP3_BIND_ADDR": "POP3_PORT",
}
_TEXTS = {
    "MP_MAX_MESSAGES": "MAILBOX_MAX_MESSAGES",
    "MP_MAX_AGE": "MAILBOX_MAX_AGE",
    "MP_SMTP_AUTH_FILE": "CATCH_PASSWORDS",
    "MP_POP3_AUTH_FILE": "MAILBOX_PASSWORDS",
    "MP_WEBROOT": "MAILPIT_ROOT",
    "MP_API_CORS": "MAILPIT_ORIGINS",
    "MP_LABEL": "MAILPIT_LABEL",
    "MP_WEBHOOK_URL": "MAILPIT_WEBHOOK",
    "MP_WEBHOOK_LIMIT": "MAILPIT_WEBHOOK_INTERVAL",
    "MP_WEBHOOK_DELAY": "MAILPIT_WEBHOOK_DELAY",
    "MP_UI_AUTH_FILE": "MAILPIT_PASSWORDS",
    "MP_SEND_API_AUTH_FILE": "MAILPIT_SEND_PASSWORDS",
}
_FLAGS = {
    "MP_ALLOW_INTERNAL_HTTP_REQUESTS": ("LINK_CHECK_PRIVATE", "true"),
    "MP_ENABLE_CHAOS": ("CHAOS", "true"),
    "MP_TAGS_TITLE_CASE": ("MAILBOX_TAGS_TITLES", "true"),
}
_CERTIFICATES = ("MP_SMTP_TLS_CERT", "MP_SMTP_SSL_CERT")
_TLS = {
    "MP_SMTP_REQUIRE_TLS": "implicit",
    "MP_SMTP_REQUIRE_STARTTLS": "starttls",
    "MP_SMTP_TLS_REQUIRED": "starttls",
}
_LOGINS = {
    "MP_SMTP_AUTH": "CATCH_PASSWORDS",
    "MP_POP3_AUTH": "MAILBOX_PASSWORDS",
    "MP_UI_AUTH": "MAILPIT_PASSWORDS",
    "MP_SEND_API_AUTH": "MAILPIT_SEND_PASSWORDS",
}
_DATABASES = ("MP_DATABASE", "MP_DATA_FILE")
_WITH_A_VALUE = {
    **_PORTS,
    **_TEXTS,
    **_LOGINS,
    "MP_CHAOS_TRIGGERS": "CHAOS",
    "MP_ENABLE_SPAMASSASSIN": "SPAM_CHECK",
    "MP_TAG": "MAILBOX_TAGS",
}


class _Translation:
    """The translation of one environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.variables = {
            name: value.strip()
            for name, value in environ.items()
            if name.startswith(PREFIX) and value.strip()
        }
        self.environ = {
            name: value for name, value in environ.items() if not name.startswith(PREFIX)
        }
        self.notices: list[str] = []

    def take(self, name: str) -> str:
        """Return the value of a variable, which is done with then; empty if it is not set."""
        return self.variables.pop(name, "")

    def put(self, name: str, value: str) -> None:
        """Set a variable of ours, unless the user did."""
        if not self.environ.get(name):
            self.environ[name] = value

    def note(self, name: str, reason: str) -> None:
        """Tell the user about a variable."""
        self.notices.append(f"{name} is not used: {reason}.")


def translated(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return an environment without Mailpit's variables, and the lines for the user.

    Logins that a variable lists are written to a file in ``DATA_DIR`` that only its owner may read.
    Raises ConfigError if the folder cannot be made.
    """
    translation = _Translation(environ)
    if not translation.variables:
        return translation.environ, []
    for translate in _STEPS:
        translate(translation)
    for name, value in translation.variables.items():
        is_off = name in SWITCHES and not is_on(value)
        if not is_off and name not in FULFILLED:
            translation.note(name, reason_of(name))
    return translation.environ, translation.notices


def with_their_name(error: str, environ: Mapping[str, str]) -> str:
    """Return an error about a setting with the variable of Mailpit that set it, if one did."""
    for name, own_name in _WITH_A_VALUE.items():
        if own_name in error and environ.get(name) and not environ.get(own_name):
            return f"{error} (set by {name})"
    return error


def _database(translation: _Translation) -> None:
    for name in _DATABASES:
        text = translation.take(name)
        if not text:
            continue
        if "://" in text:
            translation.note(name, "mail is kept in the folder of DATA_DIR")
            continue
        path = Path(text).expanduser()
        folder = path if path.is_dir() else path.parent
        present = translation.environ.get("DATA_DIR")
        if not present:
            translation.environ["DATA_DIR"] = str(folder / _FOLDER)
        elif not folder.resolve().is_relative_to(Path(present).resolve()):
            translation.note(name, f"mail is kept in DATA_DIR, which is {present}")


def _ports(translation: _Translation) -> None:
    for name, own_name in _PORTS.items():
        text = translation.take(name)
        host, colon, port = text.rpartition(":")
        if not text:
            continue
        if not colon or not port.isdigit() or "/" in text:
            translation.note(name, "it names no port")
            continue
        translation.put(own_name, port)
        if host not in _WILDCARDS:
            notice = f"{name}: its port is used, its host is not; API_HOST names the address."
            translation.notices.append(notice)


def _texts(translation: _Translation) -> None:
    for name, own_name in _TEXTS.items():
        if value := translation.take(name):
            translation.put(own_name, value)


def _recipients(translation: _Translation) -> None:
    if expression := translation.take("MP_SMTP_ALLOWED_RECIPIENTS"):
        translation.put("CATCH_RECIPIENTS", f"/{expression}/")


def _flags(translation: _Translation) -> None:
    if triggers := translation.take("MP_CHAOS_TRIGGERS"):
        translation.put("CHAOS", triggers)
    for name, value in _TLS.items():
        if is_on(translation.take(name)):
            translation.put("CATCH_TLS", value)
    if any(name in translation.variables for name in _CERTIFICATES):
        translation.put("CATCH_TLS", "optional")
    for name, (own_name, value) in _FLAGS.items():
        if is_on(translation.take(name)):
            translation.put(own_name, value)
    if translation.variables.get("MP_MAX_MESSAGE_SIZE") == _MOST_MEGABYTES:
        translation.take("MP_MAX_MESSAGE_SIZE")


def _logins(translation: _Translation) -> None:
    for name, own_name in _LOGINS.items():
        logins = translation.take(name).split()
        if not logins or translation.environ.get(own_name):
            continue
        folder = open_folder(translation.environ.get("DATA_DIR") or ".local")
        path = folder / f"{own_name.lower().replace('_', '-')}.txt"
        replace_private(path, "\n".join([*logins, ""]))
        translation.environ[own_name] = str(path)


def _anybody_sends(translation: _Translation) -> None:
    name = "MP_SEND_API_AUTH_ACCEPT_ANY"
    if not is_on(translation.take(name)):
        return
    if translation.environ.get("MAILPIT_SEND_PASSWORDS", ANYBODY) != ANYBODY:
        translation.note(name, "MAILPIT_SEND_PASSWORDS names the logins that may send")
    translation.put("MAILPIT_SEND_PASSWORDS", ANYBODY)


def _metrics(translation: _Translation) -> None:
    name = "MP_ENABLE_PROMETHEUS"
    text = translation.take(name)
    if text.lower() in ("", "false"):
        return
    translation.put("MAILPIT_METRICS", "true")
    if text.lower() != "true":
        notice = f"{name}: its address is not used; figures are at /metrics of MAILPIT_PORT."
        translation.notices.append(notice)


def _spam_check(translation: _Translation) -> None:
    name = "MP_ENABLE_SPAMASSASSIN"
    text = translation.take(name)
    if text.lower() == "postmark":
        translation.note(name, "mail is not given to others to be judged; SPAM_CHECK names a host")
    elif text:
        translation.put("SPAM_CHECK", f"spamd://{text}")


def _tags(translation: _Translation) -> None:
    rules = [*_rules_of(translation.take("MP_TAG"))]
    name = "MP_TAGS_CONFIG"
    if path := translation.take(name):
        try:
            rules += _rules_of_file(Path(path))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            translation.note(name, "the file is not there, or has no filters")
    if rules:
        translation.put("MAILBOX_TAGS", "; ".join(rules))
    disabled = {each.strip() for each in translation.take("MP_TAGS_DISABLE").lower().split(",")}
    has_logins = is_on(translation.take("MP_TAGS_USERNAME"))
    sources = [
        *([] if disabled & {"x-tags", "xtags"} else ["x-tags"]),
        *([] if disabled & {"plus-addresses", "plus-addressing"} else ["plus-addresses"]),
        *(["login"] if has_logins else []),
    ]
    if disabled != {""} or has_logins:
        translation.put("MAILBOX_TAGS_FROM", ",".join(sources) or "none")


def _rules_of(text: str) -> Iterator[str]:
    """Yield the rules of `MP_TAG`: blanks divide them, unless they are in quotes."""
    words = text.split('"')
    # Every second piece was in quotes, whose blanks do not divide
    joined = "".join(
        piece.replace(" ", "\0") if number % 2 else piece for number, piece in enumerate(words)
    )
    for word in joined.split():
        yield _rule(word.replace("\0", " "))


def _rules_of_file(path: Path) -> list[str]:
    import yaml  # seldom needed

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    return [_rule(f"{each['tags']}={each['match']}") for each in document["filters"]]


def _rule(text: str) -> str:
    # A search leaves semicolons out
    return text.replace(";", " ").strip()


_STEPS: tuple[Callable[[_Translation], None], ...] = (
    _database,
    _ports,
    _texts,
    _recipients,
    _flags,
    _logins,
    _anybody_sends,
    _metrics,
    _spam_check,
    _tags,
    variables_of_relays.translate,
)
