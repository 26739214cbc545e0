"""Read email addresses, strictly and in linear time, for every part of the service.

An address is a dot-atom or quoted local part of at most 64 bytes, ``@``, and a domain of at least
two labels (RFC 5321 section 4.1.2, RFC 6531 for characters beyond ASCII), 254 bytes in all. Address
literals such as ``a@[192.0.2.1]`` are refused, because the service cannot verify them.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from chalicelib.core import domain_names

# The sets name the ASCII characters that are not allowed, because sets of ranges beyond ASCII take
# 25 ms to compile at every cold start. Surrogates are checked apart: half a pair is no character
# and has no UTF-8 form.
_ATEXT = r"""[^\x00-\x20"(),.:;<>@\[\\\]\x7f]"""
_LOCAL = rf'(?:{_ATEXT}+(?:\.{_ATEXT}+)*|"(?:[ !#-\[\]-~]|\\[ -~])*")'
_ALNUM = r"[^\x00-/:-@\[-`{-\x7f]"
_LABEL = rf"{_ALNUM}(?:[^\x00-,./:-@\[-`{{-\x7f]{{0,61}}{_ALNUM})?"
_ADDRESS = re.compile(rf"({_LOCAL})@({_LABEL}(?:\.{_LABEL})+)")
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})+")
_QUOTED_PAIR = re.compile(r"\\(.)")
_SURROGATE = re.compile("[\ud800-\udfff]")

LONGEST = 254
LONGEST_LOCAL = 64
LONGEST_DOMAIN = 253
LONGEST_MAILBOX = 2000


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address with an optional display name."""

    email: str
    name: str = ""

    @property
    def domain(self) -> str:
        """Return the domain in its one spelling."""
        return domain_of(self.email)


def is_address(text: str) -> bool:
    """Tell whether ``text`` is one bare address."""
    if len(text) > LONGEST or not (match := _ADDRESS.fullmatch(_with_ascii_dots(text))):
        return False
    if text.isascii():
        return match.end(1) <= LONGEST_LOCAL
    if _has_surrogate(text):
        return False
    return len(match[1].encode()) <= LONGEST_LOCAL and len(text.encode()) <= LONGEST


def is_domain(text: str) -> bool:
    """Tell whether ``text`` is a domain name of at least two labels."""
    if len(text) > LONGEST_DOMAIN or _has_surrogate(text):
        return False
    return _DOMAIN.fullmatch(domain_names.with_ascii_dots(text)) is not None


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def _with_ascii_dots(email: str) -> str:
    if email.isascii():
        return email
    local, at, domain = email.rpartition("@")
    return f"{local}{at}{domain_names.with_ascii_dots(domain)}"


def domain_of(email: str) -> str:
    """Return the part behind the last ``@`` in the one spelling of domains."""
    return domain_names.spelling(email.rpartition("@")[2])


def spelling(email: str) -> str:
    """Return the one spelling of an address, by which it is stored, searched and counted.

    Mail to ``Ann@Bücher.example`` leaves as mail to ``Ann@xn--bcher-kva.example``, and mailboxes
    ignore case, so both are ``ann@xn--bcher-kva.example``. Letters of the local part are composed.
    Quotes that it does not need are not part of it (RFC 5321 4.1.2).
    """
    if email.isascii():
        return _unquoted(email.lower())
    local, at, domain = email.rpartition("@")
    lowered = unicodedata.normalize("NFC", local.lower())
    return _unquoted(f"{lowered}{at}{domain_names.spelling(domain)}")


def spellings(email: str) -> list[str]:
    """Return the one spelling of an address, then others under which version 0.1.0 stored it.

    That kept addresses in lower case, and domains as they were typed (stays: suppression lists are
    not rewritten).
    """
    local, at, domain = spelling(email).rpartition("@")
    readable = f"{local}{at}{domain_names.in_u_labels(domain)}"
    decomposed = unicodedata.normalize("NFD", readable)
    return list(dict.fromkeys((f"{local}{at}{domain}", email.lower(), readable, decomposed)))


def _unquoted(address: str) -> str:
    if not address.startswith('"'):
        return address
    local, _, domain = address.rpartition("@")
    plain = _QUOTED_PAIR.sub(r"\1", local[1:-1]) + f"@{domain}"
    return plain if is_address(plain) and not plain.startswith('"') else address


def in_a_labels(email: str) -> str | None:
    """Return an address with its domain in A-labels (RFC 5890), ``None`` if the domain has none.

    The local part is not changed: only domains have A-labels.
    """
    local, at, domain = email.rpartition("@")
    a_labels = domain_names.in_a_labels(domain)
    return None if a_labels is None else f"{local}{at}{a_labels}"


def read_mailbox(text: str) -> Mailbox | None:
    """Read ``a@b.c`` or ``Name <a@b.c>`` (the name may be quoted); ``None`` if it is neither.

    A comma may stand in a name without quotes (``Doe, Ann <a@b.c>``), but not behind an address:
    that is a list.
    """
    text = text.strip()
    if is_address(text):
        return Mailbox(text)
    if len(text) > LONGEST_MAILBOX or not text.endswith(">"):
        return None
    before, bracket, inside = text[:-1].rpartition("<")
    name, email = before.strip(), inside.strip()
    if not bracket or "<" in name or ">" in name or not is_address(email):
        return None
    if len(name) >= 2 and name[0] == name[-1] == '"':
        name = re.sub(r"\\(.)", r"\1", name[1:-1])
    elif "@" in name and ("," in name or ";" in name):
        return None
    return Mailbox(email, name)
