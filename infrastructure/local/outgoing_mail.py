"""Keep mail on this machine unless the caller of the local runtime lets it out (``DELIVER``)."""

from __future__ import annotations

from collections.abc import Mapping

from chalicelib.core.settings import Settings

#: Settings that name a way out, or belong to one
OUTWARD = ("SMARTHOST", "SMARTHOST_USERNAME", "SMARTHOST_PASSWORD", "SMARTHOST_TLS", "MX_PORT")
_OPENING = "Mail leaves this machine by"
_SES, _MAIL_HOSTS = "Amazon SES", "the recipients' own mail hosts"
_SENDING_IPS = "the smarthosts of sending IPs"


def without_way_out(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the settings by which mail would leave."""
    return {name: value for name, value in environ.items() if name not in OUTWARD}


def notice_of_unused(environ: Mapping[str, str]) -> str:
    """Return a line about the settings that :func:`without_way_out` drops; empty for none."""
    names = [name for name in OUTWARD if name in environ]
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    subject = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{subject} {verb} set, but no mail leaves this machine without --deliver"


def way_out(current: Settings, sink_port: int) -> str:
    """Return by what mail leaves a runtime whose sink is at a port; empty if none leaves."""
    if not current.deliver:
        return ""
    if current.transport == "ses":
        return _SES
    if current.transport == "mx":
        return _MAIL_HOSTS
    return _SENDING_IPS if current.smarthost == f"127.0.0.1:{sink_port}" else current.smarthost


def warning(way: str) -> str:
    """Return the sentence for people; empty if no mail leaves."""
    return f"{_OPENING} {way}." if way else ""
