"""Find the DMARC record that applies to a domain by the DNS tree walk of RFC 9989, and read it.

The walk needs no list of public suffixes: it looks at the domain and at the names above it, eight
at most. Records have the same form as those of RFC 7489 and RFC 9091 (``psd``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from chalicelib.core import dns

POLICIES: Final = ("none", "quarantine", "reject")

_MOST_NAMES: Final = 8
_POLICY_TAGS: Final = ("p", "sp", "np")
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*:\S+")
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("adkim", "aspf"), ("r", "s")),
    "psd": ("y", "n", "u"),
    "t": ("y", "n"),
}


class BadPolicy(ValueError):
    """The text is no DMARC record that a mail host applies; the message says why."""


@dataclass(frozen=True, slots=True)
class DmarcRecord:
    """The record at ``_dmarc.<domain>``, with its tags in lower case.

    ``problem`` says why mail hosts act as if its policy were none, whatever it states. It is empty
    if they do as it states.
    """

    domain: str
    text: str
    tags: Mapping[str, str]
    problem: str = ""

    def policy_for(self, name: str) -> str:
        """Return the policy for mail from ``name``, which is the record's domain or below it."""
        policy = self.tags.get("p", "none")
        return policy if name == self.domain else self.tags.get("sp", policy)

    def is_strict(self, tag: str) -> bool:
        """Tell whether ``adkim`` or ``aspf`` demands the same name, not only the same owner."""
        return self.tags.get(tag) == "s"


def find_record(domain: str) -> DmarcRecord | None:
    """Return the record that applies to mail from ``domain``.

    It is the domain's own, else that of its organizational domain, else that of the public suffix
    above it. Raises :class:`BadPolicy` and ``dns.LookupFailed``.
    """
    names = names_to_query(domain)
    with ThreadPoolExecutor(len(names)) as threads:
        answers = list(threads.map(lambda name: dns.texts(f"_dmarc.{name}"), names))
    texts = {
        name: own
        for name, all_texts in zip(names, answers, strict=True)
        if (own := _dmarc_texts(all_texts))
    }
    if len(texts.get(domain, ())) > 1:
        raise BadPolicy(f"there are several DMARC records at _dmarc.{domain}")
    if domain in texts:
        return read_record(domain, texts[domain][0])
    # A name with several records counts as one without (RFC 9989 4.10)
    name = _organization(domain, {name: own[0] for name, own in texts.items() if len(own) == 1})
    return read_record(name, texts[name][0]) if name else None


def names_to_query(domain: str) -> list[str]:
    """Return the names of the walk, from the domain upwards (RFC 9989 4.10).

    >>> names_to_query("a.example.com")
    ['a.example.com', 'example.com', 'com']
    """
    labels = domain.split(".")
    above = labels[max(1, len(labels) - (_MOST_NAMES - 1)) :]
    return [domain, *(".".join(above[at:]) for at in range(len(above)))]


def read_record(domain: str, text: str) -> DmarcRecord:
    """Read a record; raises :class:`BadPolicy`.

    Without a valid policy it counts as ``p=none`` if it has an address for reports, and else is no
    record (RFC 7489 6.6.3).
    """
    tags: dict[str, str] = {}
    for part in filter(str.strip, text.split(";")):
        name, separator, value = (each.strip().lower() for each in part.partition("="))
        if not separator or not name:
            raise BadPolicy(f"'{part.strip()[:80]}' is no tag with a value")
        if name in tags:
            raise BadPolicy(f"the tag {name} occurs twice")
        tags[name] = value
    for name, values in _VALUES.items():
        if name in tags and tags[name] not in values:
            raise BadPolicy(_wrong_value(name, values))
    problem = _policy_problem(tags)
    if not problem:
        return DmarcRecord(domain, text, tags)
    if not any(_URI.fullmatch(each.strip()) for each in tags.get("rua", "").split(",")):
        raise BadPolicy(problem)
    others = {name: value for name, value in tags.items() if name not in _POLICY_TAGS}
    return DmarcRecord(domain, text, {"p": "none", **others}, problem)


def _policy_problem(tags: Mapping[str, str]) -> str:
    if "p" not in tags:
        return "it has no p tag, which states the policy"
    for name in _POLICY_TAGS:
        if tags.get(name, "none") not in POLICIES:
            return _wrong_value(name, POLICIES)
    return ""


def _wrong_value(name: str, values: Sequence[str]) -> str:
    return f"the tag {name} must be one of {', '.join(values)}"


def _dmarc_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts that claim to be DMARC records: ``v=DMARC1`` stands first, in that case."""
    return [
        text
        for text in texts
        if [each.strip() for each in text.partition(";")[0].partition("=")] == ["v", "=", "DMARC1"]
    ]


def _organization(domain: str, texts: Mapping[str, str]) -> str:
    """Return the name whose record counts, of those above the domain, the nearest first.

    ``psd=n`` marks an organizational domain, ``psd=y`` a public suffix. The organizational domain
    is then one label below the suffix (RFC 9989 4.10.2), and the record of the suffix counts if
    that name has none. Without either mark it is the shortest name.
    """
    name = ""
    for candidate, text in texts.items():
        marks = {each.replace(" ", "").lower() for each in text.split(";")}
        if "psd=y" in marks:
            label = domain.removesuffix(f".{candidate}").rpartition(".")[2]
            below = f"{label}.{candidate}"
            return below if below in texts else candidate
        name = candidate
        if "psd=n" in marks:
            return name
    return name
