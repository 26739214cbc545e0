"""Define the verdicts on a received message, and their form in JSON.

Results are the words of RFC 8601 2.7: none, pass, fail, softfail, neutral, policy, permerror and
temperror. A ``reason`` is a sentence for people; it is empty where the result says all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from chalicelib.core.json_types import Json

NONE: Final = "none"
PASS: Final = "pass"
FAIL: Final = "fail"
NEUTRAL: Final = "neutral"
TEMPORARY: Final = "temperror"
PERMANENT: Final = "permerror"

MFROM: Final = "mfrom"
HELO: Final = "helo"
"""What SPF was checked for: the reverse-path, or the name in HELO where that is empty."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who handed a message over. ``mail_from`` is empty for the null reverse-path."""

    peer_ip: str
    helo: str
    mail_from: str


@dataclass(frozen=True, slots=True)
class SpfVerdict:
    """The verdict of SPF about a domain; ``scope`` is mfrom or helo."""

    result: str = NONE
    domain: str = ""
    scope: str = MFROM
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DkimVerdict:
    """The verdict about one DKIM signature."""

    result: str
    domain: str = ""
    selector: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DmarcVerdict:
    """The verdict of DMARC about the domain of From.

    ``policy`` is that of the domain's owner, empty without one; ``disposition`` is what the owner
    wants done with this message: none, quarantine or reject.
    """

    result: str = NONE
    domain: str = ""
    policy: str = ""
    disposition: str = NONE
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ArcVerdict:
    """The verdict about the chain of ARC; ``chain`` is the number of its sets.

    ``oldest_pass`` is 0 if the message is as the first sealer got it, else the lowest instance
    since which it has not changed; ``None`` if that is not known.
    """

    result: str = NONE
    chain: int = 0
    sealer: str = ""
    oldest_pass: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SpamRule:
    """A rule of the spam checker that applied, and what it adds to the score."""

    name: str
    score: float


@dataclass(frozen=True, slots=True)
class SpamVerdict:
    """The verdict of the spam checker; ``error`` says why there is none."""

    is_spam: bool = False
    score: float | None = None
    threshold: float | None = None
    rules: tuple[SpamRule, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class VirusVerdict:
    """The verdict of the virus scanner: the name of what was found; ``error`` as for spam."""

    is_infected: bool = False
    name: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """All verdicts on a message; ``spam`` and ``virus`` are ``None`` where nobody is asked."""

    spf: SpfVerdict = field(default_factory=SpfVerdict)
    dkim: tuple[DkimVerdict, ...] = ()
    dmarc: DmarcVerdict = field(default_factory=DmarcVerdict)
    arc: ArcVerdict = field(default_factory=ArcVerdict)
    spam: SpamVerdict | None = None
    virus: VirusVerdict | None = None

    def as_json(self) -> Json:
        """Return the verdicts as they stand in a webhook's payload."""
        document = asdict(self)
        document["dkim"] = list(document["dkim"])
        if self.spam:
            document["spam"]["rules"] = list(document["spam"]["rules"])
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what :meth:`as_json` wrote."""
        spam, virus = document.get("spam"), document.get("virus")
        return cls(
            SpfVerdict(**document["spf"]),
            tuple(DkimVerdict(**each) for each in document["dkim"]),
            DmarcVerdict(**document["dmarc"]),
            ArcVerdict(**document["arc"]),
            _read_spam(spam) if spam else None,
            VirusVerdict(**virus) if virus else None,
        )

    def authentication_results(self, authserv_id: str) -> str:
        """Return the value of an Authentication-Results field, on one line (RFC 8601)."""
        from chalicelib.mail_verdicts.results_field import field_value

        return field_value(self, authserv_id)


def _read_spam(document: Mapping[str, Any]) -> SpamVerdict:
    rules = tuple(SpamRule(**rule) for rule in document["rules"])
    return SpamVerdict(**{**document, "rules": rules})
