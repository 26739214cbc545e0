"""Say of Mailpit's variables which need no translation, and why others have no effect."""

from __future__ import annotations

from typing import Final

PREFIX: Final = "MP_"

_SWITCH_NAMES = """
ALLOW_INTERNAL_HTTP_REQUESTS ALLOW_UNTRUSTED_TLS BLOCK_REMOTE_CSS_AND_FONTS DEMO_MODE
DISABLE_AUTO_VACUUM DISABLE_HTML_CHECK DISABLE_HTTP_COMPRESSION DISABLE_LINK_CHECK_RATE_LIMIT
DISABLE_VERSION_CHECK DISABLE_WAL ENABLE_CHAOS ENABLE_PROMETHEUS HIDE_DELETE_ALL_BUTTON
IGNORE_DUPLICATE_IDS QUIET SEND_API_AUTH_ACCEPT_ANY SMTP_AUTH_ACCEPT_ANY SMTP_AUTH_ALLOW_INSECURE
SMTP_DISABLE_RDNS SMTP_FORWARD_ALLOW_INSECURE SMTP_FORWARD_FWD_SMTP_ERRORS SMTP_FORWARD_STARTTLS
SMTP_FORWARD_TLS SMTP_IGNORE_REJECTED_RECIPIENTS SMTP_RELAY_ALL SMTP_RELAY_ALLOW_INSECURE
SMTP_RELAY_FWD_SMTP_ERRORS SMTP_RELAY_PRESERVE_MESSAGE_IDS SMTP_RELAY_STARTTLS SMTP_RELAY_TLS
SMTP_REQUIRE_STARTTLS SMTP_REQUIRE_TLS SMTP_STRICT_RFC_HEADERS SMTP_TLS_REQUIRED STRICT_RFC_HEADERS
TAGS_TITLE_CASE TAGS_USERNAME USE_MESSAGE_DATES VERBOSE
"""
_FULFILLED_NAMES = """
COMPRESSION DISABLE_AUTO_VACUUM DISABLE_HTML_CHECK DISABLE_HTTP_COMPRESSION DISABLE_VERSION_CHECK
DISABLE_WAL SMTP_AUTH_ACCEPT_ANY SMTP_AUTH_ALLOW_INSECURE SMTP_DISABLE_RDNS
SMTP_RELAY_PRESERVE_MESSAGE_IDS
"""

#: Variables that say yes or no; those that say no ask for nothing
SWITCHES: Final = frozenset(f"{PREFIX}{name}" for name in _SWITCH_NAMES.split())
#: What is so here in any case
FULFILLED: Final = frozenset(f"{PREFIX}{name}" for name in _FULFILLED_NAMES.split())

_LOGS = "DATA_DIR/logs has what the processes say"
_CERTIFICATE = "TLS is offered with the certificate of DATA_DIR"
_ORDER = "messages are in the order in which they came"
_REASONS = {
    "ALLOW_UNTRUSTED_TLS": "the link check takes only certificates that are valid",
    "BLOCK_REMOTE_CSS_AND_FONTS": "the mailbox loads nothing from elsewhere until it is asked to",
    "IGNORE_DUPLICATE_IDS": "every message that comes is kept",
    "LOG_FILE": _LOGS,
    "MAX_MESSAGE_SIZE": "a message may have 50 MB",
    "POP3_TLS_CERT": _CERTIFICATE,
    "POP3_TLS_KEY": _CERTIFICATE,
    "QUIET": _LOGS,
    "SMTP_SSL_CERT": _CERTIFICATE,
    "SMTP_SSL_KEY": _CERTIFICATE,
    "SMTP_TLS_CERT": _CERTIFICATE,
    "SMTP_TLS_KEY": _CERTIFICATE,
    "TENANT_ID": "a second instance has a DATA_DIR of its own",
    "UI_SSL_CERT": _CERTIFICATE,
    "UI_SSL_KEY": _CERTIFICATE,
    "UI_TLS_CERT": _CERTIFICATE,
    "UI_TLS_KEY": _CERTIFICATE,
    "USE_MESSAGE_DATES": _ORDER,
    "VERBOSE": _LOGS,
}


def is_on(value: str) -> bool:
    """Tell whether a variable that says yes or no says yes."""
    return value.strip().lower() in ("1", "true", "yes")


def reason_of(name: str) -> str:
    """Return why a variable has no effect."""
    return _REASONS.get(name.removeprefix(PREFIX), "it has no counterpart here")
