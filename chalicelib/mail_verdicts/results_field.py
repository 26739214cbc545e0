"""Write verdicts as the value of an Authentication-Results field (RFC 8601 2.2)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chalicelib.mail_verdicts.model import Verdicts

_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`{|}~-]+")
_UNPRINTABLE: Final = re.compile(r"[^ -~]")


def field_value(verdicts: Verdicts, authserv_id: str) -> str:
    """Return the value on one line; it may be folded behind each semicolon.

    Spam and viruses are not in it: no method of RFC 8601 is about them.
    """
    spf, dmarc, arc = verdicts.spf, verdicts.dmarc, verdicts.arc
    spf_property = "smtp.helo" if spf.scope == "helo" else "smtp.mailfrom"
    results = [_result("spf", spf.result, spf.reason, {spf_property: spf.domain})]
    for dkim in verdicts.dkim:
        properties = {"header.d": dkim.domain, "header.s": dkim.selector}
        results.append(_result("dkim", dkim.result, dkim.reason, properties))
    if not verdicts.dkim:
        results.append("dkim=none")
    comment = f" (p={dmarc.policy} dis={dmarc.disposition})" if dmarc.policy else ""
    properties = {"header.from": dmarc.domain}
    results.append(_result("dmarc", dmarc.result + comment, dmarc.reason, properties))
    oldest_pass = "" if arc.oldest_pass is None else str(arc.oldest_pass)
    results.append(_result("arc", arc.result, arc.reason, {"header.oldest-pass": oldest_pass}))
    return "; ".join([_value(authserv_id), *results])


def _result(method: str, result: str, reason: str, properties: dict[str, str]) -> str:
    words = [f"{method}={result}"]
    if reason:
        words.append(f"reason={_quoted(reason)}")
    words += [f"{name}={_value(value)}" for name, value in properties.items() if value]
    return " ".join(words)


def _value(text: str) -> str:
    return text if _TOKEN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    printable = _UNPRINTABLE.sub("?", text)
    return '"' + re.sub(r'(["\\])', r"\\\1", printable) + '"'
