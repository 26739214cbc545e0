"""Find the DMARC record that applies to a domain by the DNS tree walk of RFC 9989, and read it.

The walk needs no list of public suffixes: it looks at the domain and at the names above it, eight
at most. Records have the same form as those of RFC 7489 and RFC 9091 (``psd``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple

from chalicelib.core import dns
from chalicelib.core.dns import TextLookup

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

    def policy_for(self, name: str, *, exists: bool = True) -> str:
        """Return the policy for mail from ``name``, which is the record's domain or below it.

        A name below it that does not exist may have a policy of its own (``np``).
        """
        policy = self.tags.get("p", "none")
        if name == self.domain:
            return policy
        policy = self.tags.get("sp", policy)
        return policy if exists else self.tags.get("np", policy)

    @property
    def is_test(self) -> bool:
        """Tell whether mail hosts apply the next weaker policy (``t=y``, RFC 9989 4.7)."""
        return self.tags.get("t") == "y"

    def is_strict(self, tag: str) -> bool:
        """Tell whether ``adkim`` or ``aspf`` demands the same name, not only the same owner."""
        return self.tags.get(tag) == "s"


def find_record(domain: str, texts: TextLookup | None = None) -> DmarcRecord | None:
    """Return the record that applies to mail from ``domain``.

    It is the domain's own, else that of its organizational domain, else that of the public suffix
    above it. Raises :class:`BadPolicy` and ``dns.LookupFailed``. Without ``texts``, which looks up
    one name after the other, the names are looked up side by side.
    """
    texts_by_name = _texts_by_name(domain, texts)
    own_texts = texts_by_name.get(domain, ())
    if len(own_texts) > 1:
        raise BadPolicy(f"there are several DMARC records at _dmarc.{domain}")
    if own_texts:
        return read_record(domain, own_texts[0])
    name = _walk(domain, texts_by_name).record_name
    return read_record(name, texts_by_name[name][0]) if name else None


def organization(domain: str, texts: TextLookup | None = None) -> str:
    """Return the organizational domain of a name (RFC 9989 4.10.2); raises ``dns.LookupFailed``."""
    return _walk(domain, _texts_by_name(domain, texts)).organization


def record_names(domain: str) -> list[str]:
    """Return the names of the records that a walk looks at."""
    return [f"_dmarc.{name}" for name in names_to_query(domain)]


def _texts_by_name(domain: str, texts: TextLookup | None) -> dict[str, list[str]]:
    """Return the DMARC records of each name of the walk that has any."""
    names = record_names(domain)
    if texts:
        answers = list(map(texts, names))
    else:
        with ThreadPoolExecutor(len(names)) as threads:
            answers = list(threads.map(dns.texts, names))
    return {
        name.removeprefix("_dmarc."): own_texts
        for name, all_texts in zip(names, answers, strict=True)
        if (own_texts := _dmarc_texts(all_texts))
    }


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


class _Walk(NamedTuple):
    """Where a walk ends; ``record_name`` is empty if it found no record that counts."""

    organization: str
    record_name: str


def _walk(domain: str, texts_by_name: Mapping[str, Sequence[str]]) -> _Walk:
    """Return the organizational domain, and the name whose record counts for those below it.

    ``psd=n`` marks an organizational domain, ``psd=y`` a public suffix. The organizational domain
    is then one label below the suffix (RFC 9989 4.10.2), and the record of the suffix counts if
    that name has none. Without either mark it is the shortest name.
    """
    name = ""
    # A name with several records counts as one without (RFC 9989 4.10)
    single = {name: texts[0] for name, texts in texts_by_name.items() if len(texts) == 1}
    for candidate, text in single.items():
        marks = {each.replace(" ", "").lower() for each in text.split(";")}
        if "psd=y" in marks and candidate != domain:
            label = domain.removesuffix(f".{candidate}").rpartition(".")[2]
            below = f"{label}.{candidate}"
            return _Walk(below, below if below in single else candidate)
        name = candidate
        if "psd=n" in marks:
            break
    return _Walk(name or domain, name)
