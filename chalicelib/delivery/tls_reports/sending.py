"""Send the reports that are due, by mail or to web pages (RFC 8460 5).

A report that is sent again has the same id, and by mail it is the same transmission, so it arrives
once. Pages that take none are tried again for a day.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from chalicelib.core import due, ids, web_fetch
from chalicelib.core.due import Due
from chalicelib.core.web_fetch import FetchFailed
from chalicelib.delivery.tls_reports import store
from chalicelib.delivery.tls_reports.counting import CONCERN
from chalicelib.delivery.tls_reports.destinations import MAIL, address_in, destinations_of
from chalicelib.delivery.tls_reports.report import (
    MEDIA_TYPE,
    TlsReport,
    make_report,
    message_with,
)

_GIVE_UP_MS = 86_400_000
_SUCCESS = (200, 201, 202, 204)

Mailer = Callable[[str, bytes, str], None]
"""Sends a message to an address as the transmission with an id, once for each id."""

_log = logging.getLogger(__name__)


class _NotTaken(Exception):
    """No destination took a report."""


def send_due(now_ms: int, mail: Mailer) -> None:
    """Send the reports whose time has come; what fails is tried again later."""
    while entries := due.find(CONCERN, now_ms):
        for entry in entries:
            try:
                _send(entry, mail)
            except Exception:
                if now_ms - entry.at_ms < _GIVE_UP_MS:
                    _log.warning("a TLS report was not sent", exc_info=True)
                    due.postpone(entry, now_ms)
                    continue
                _log.exception("a TLS report was given up")
            due.remove(entry)


def _send(entry: Due, mail: Mailer) -> None:
    day, _, domain = entry.key.partition("#")
    destinations = destinations_of(domain)
    if not destinations:
        return
    report = make_report(day, domain, store.sessions_of(day, domain))
    results = [_send_to(each, report, entry, mail) for each in destinations]
    if not any(results):
        raise _NotTaken(f"none of the {len(results)} destinations of {domain} took its report")


def _send_to(destination: str, report: TlsReport, entry: Due, mail: Mailer) -> bool:
    """Tell whether a destination took the report; mail is taken when it is queued."""
    if destination.lower().startswith(MAIL):
        address = address_in(destination)
        transmission_id = ids.repeatable_transmission_id(entry.at_ms, f"{entry.key} {address}")
        mail(address, message_with(report, address), transmission_id)
        return True
    try:
        response = web_fetch.post(destination, report.content, {"Content-Type": MEDIA_TYPE})
    except FetchFailed as error:
        _log.info("a page for the TLS reports of %s does not answer: %s", report.domain, error)
        return False
    return response.status in _SUCCESS
