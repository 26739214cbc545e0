"""Judge the reading of bounces by what other projects know: right, wrong and unknown classes.

Three corpora are used as their authors publish them, and nothing of them is kept here. They lie in
the directory that ``BOUNCE_CORPORA`` names, each under the name of its repository:

- ``rb-sisimai`` (https://github.com/sisimai/rb-sisimai, BSD-2-Clause): bounces of some 70 kinds of
  hosts, each with the reason that Sisimai gives it;
- ``flufl.bounce`` (https://pypi.org/project/flufl.bounce, Apache-2.0; downloaded with pip if it is
  missing): bounces of mailing lists, each with its recipients and whether the failure is final;
- ``kumomta`` (https://github.com/KumoCorp/kumomta, Apache-2.0): rules that give the registered
  enhanced status codes (RFC 3463, RFC 5248) a class.

``-v`` after the name prints each that is wrong or unknown.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chalicelib.core.bounce_classes import GENERIC_BOUNCE, HARD, UNDETERMINED
from chalicelib.delivery.classify import classify
from chalicelib.inbound import dsn, mime
from chalicelib.inbound.report import Bounce, NoEvent, Report, read

_DIRECTORY = "BOUNCE_CORPORA"

_OF_SISIMAI = {
    "authfailure": {50},
    "badreputation": {50, 51},
    "blocked": {50, 51},
    "contenterror": {20, 50, 52},
    "exceedlimit": {22, 23},
    "expired": {20, 24},
    "filtered": {10, 50, 51, 52},
    "hasmoved": {10},
    "hostunknown": {10, 21},
    "mailboxfull": {22},
    "mailererror": {20},
    "mesgtoobig": {23},
    "networkerror": {20, 21, 24},
    "norelaying": {54},
    "notaccept": {10, 21, 50, 54},
    "notcompliantrfc": {20, 50},
    "policyviolation": {50, 51, 52, 53},
    "rejected": {50, 51},
    "requireptr": {50, 51},
    "securityerror": {50, 52, 53, 54},
    "spamdetected": {51, 52},
    "speeding": {50, 51, 70},
    "suspend": {10},
    "syntaxerror": {20},
    "systemerror": {20, 21},
    "systemfull": {20, 22},
    "toomanyconn": {50, 51, 70},
    "userunknown": {10},
    "vacation": {60},
    "virusdetected": {52, 53},
}
"""Our classes that say the same as a reason of Sisimai; its other reasons name no cause."""

_OF_KUMOMTA = {
    "AuthenticationFailed": {50, 54},
    "BadConnection": {20, 24},
    "BadDomain": {10, 21},
    "DNSFailure": {20, 21},
    "InactiveMailbox": {10},
    "InvalidRecipient": {10, 20},
    "InvalidSender": {50},
    "MessageExpired": {24},
    "NoAnswerFromHost": {20, 24},
    "PolicyRelated": {50, 51, 52},
    "ProtocolErrors": {20},
    "QuotaIssues": {20, 22, 23},
    "RoutingErrors": {20, 21},
    "TooManyRecipients": {20},
    "TransientFailure": {20},
}
"""Our classes that say the same as a class of KumoMTA's rules."""

_REGISTERED = {
    "1": range(11),
    "2": range(5),
    "3": range(6),
    "4": range(8),
    "5": range(7),
    "6": range(11),
    "7": range(31),
}
"""The subjects of enhanced status codes with their registered details (IANA)."""

_TRANSIENT = 70
_VAGUE = {10, 20, 22, 23}
"""Classes of causes that a 4xx reply may leave as no more than transient."""


@dataclass
class _Score:
    """How many were right, wrong, generic (class 40), unknown (class 1) or not seen as bounces."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, verdict: str, about: str) -> None:
        self.counts[verdict] += 1
        if verdict != "right" and "-v" in sys.argv:
            print(f"  {verdict}: {what}: {about}")

    def print(self) -> None:
        total = sum(self.counts.values())
        order = ("right", "wrong", "generic", "unknown", "unseen")
        parts = [f"{self.counts[verdict]} {verdict}" for verdict in order]
        print(f"{self.name}: {', '.join(parts)} of {total}; {self.counts['right'] / total:.1%}")


def main() -> None:
    """Judge by each corpus that is there and print the figures."""
    directory = Path(os.environ.get(_DIRECTORY, tempfile.gettempdir()))
    for name, judge in (
        ("rb-sisimai", _by_sisimai),
        ("flufl.bounce", _by_flufl),
        ("kumomta", _by_kumomta),
    ):
        corpus = directory / name
        if corpus.is_dir():
            judge(corpus)
        elif name == "flufl.bounce":
            with tempfile.TemporaryDirectory() as place:
                if downloaded := _download(name, Path(place)):
                    judge(downloaded)
        else:
            print(f"{name}: not measured: {_DIRECTORY} names no directory with it")


def _by_sisimai(corpus: Path) -> None:
    score, suppressed = _Score("bounces of Sisimai"), 0
    for path, reasons in _sisimai_cases(corpus):
        reports = _reports(path.read_bytes(), len(reasons))
        for reason, report in zip(reasons, reports, strict=False):
            expected = _OF_SISIMAI.get(reason)
            if expected is None:
                continue
            verdict = _verdict(report, expected)
            score.add(path.name, verdict, f"{reason}, not {report}")
            suppressed += verdict == "wrong" and _is_hard(report)
    score.print()
    print(f"  of the wrong classes, {suppressed} are hard: they would suppress the recipient")


def _sisimai_cases(corpus: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each message with the reasons of its recipients."""
    case = re.compile(r"'(\d\d+)' => \[((?:\s*\[[^\[\]]*\],?\s*)+)\]")
    outcome = re.compile(r"\['[^']*',\s*'[^']*',\s*'(\w+)'")
    for module in sorted((corpus / "test" / "public").glob("*.rb")):
        for number, outcomes in case.findall(module.read_text()):
            path = corpus / "set-of-emails/maildir/bsd" / f"{module.stem}-{number}.eml"
            reasons = outcome.findall(outcomes)
            if path.exists() and reasons and module.stem != "arf":
                yield path, reasons


def _reports(message: bytes, recipients: int) -> list[Report]:
    """What is reported of each recipient; of the first where they cannot be told apart."""
    mail = mime.read(message)
    statuses = dsn.statuses(mail)
    if len(statuses) == recipients:
        return [read(mail, next(iter(status.recipients), "")) for status in statuses]
    return [read(mail, "")]


def _verdict(report: Report, expected: set[int]) -> str:
    if not isinstance(report, Bounce):
        # A host that is still trying has not bounced: the sender gets no event, as it should
        return "right" if isinstance(report, NoEvent) and 24 in expected else "unseen"
    return _class_verdict(report.code, report.bounce_class, expected)


def _is_hard(report: Report) -> bool:
    return isinstance(report, Bounce) and report.bounce_class in HARD


def _class_verdict(code: int, bounce_class: int, expected: set[int]) -> str:
    if code < 500 and expected & _VAGUE:
        expected = expected | {_TRANSIENT}
    if bounce_class in expected:
        return "right"
    return {UNDETERMINED: "unknown", GENERIC_BOUNCE: "generic"}.get(bounce_class, "wrong")


def _by_flufl(corpus: Path) -> None:
    failures, warnings = _Score("failures of flufl.bounce"), _Score("warnings of flufl.bounce")
    for name, (recipient, is_temporary) in sorted(_flufl_cases(corpus).items()):
        mail = mime.read((corpus / "tests" / "data" / name).read_bytes())
        report = read(mail, recipient)
        if is_temporary:
            warnings.add(name, "wrong" if _is_hard(report) else "right", str(report))
        elif isinstance(report, Bounce):
            expected = set(range(2, 100)) - {GENERIC_BOUNCE, 60}
            failures.add(
                name, _class_verdict(report.code, report.bounce_class, expected), str(report)
            )
        else:
            failures.add(name, "unseen", str(report))
    failures.print()
    warnings.print()


def _flufl_cases(corpus: Path) -> dict[str, tuple[str, bool]]:
    """The first recipient of each message, and whether its failure is temporary."""
    tree = ast.parse((corpus / "tests" / "test_detectors.py").read_text())
    table = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DETECTORS"
    )
    return {
        name: (recipients[0].decode(), temporary)
        for _, name, recipients, temporary in table
        if recipients
    }


def _download(name: str, place: Path) -> Path | None:
    """Download the source of a package, which has its tests; print why that is not possible."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary=:all:"]
    done = subprocess.run([*command, "-q", "-d", place, name], capture_output=True, text=True)
    if done.returncode:
        print(f"{name}: not measured: {done.stderr.strip().splitlines()[-1]}")
        return None
    with tarfile.open(next(place.glob("*.tar.gz"))) as archive:
        archive.extractall(place, filter="data")
    return next(path for path in place.iterdir() if path.is_dir())


def _by_kumomta(corpus: Path) -> None:
    text = (corpus / "assets/bounce_classifier/iana.toml").read_text()
    rules = [
        (re.compile(pattern), name)
        for name, patterns in tomllib.loads(text)["rules"].items()
        for pattern in patterns
    ]
    score = _Score("registered enhanced status codes, by KumoMTA's rules")
    for status in _registered():
        codes = [*range(450, 460), *range(400, 450), *range(550, 560), *range(500, 550)]
        replies = [(code, f"{code} {status} ") for code in codes if str(code)[0] == status[0]]
        names = ((name, code) for code, r in replies for rule, name in rules if rule.search(r))
        name, code = next(names, ("", 0))
        if name:
            bounce_class = classify(code, status)
            verdict = _class_verdict(code, bounce_class, _OF_KUMOMTA[name])
            score.add(status, verdict, f"{name}, not {bounce_class}")
    score.print()


def _registered() -> Iterator[str]:
    for digit in "45":
        for subject, details in _REGISTERED.items():
            yield from (f"{digit}.{subject}.{detail}" for detail in details)


if __name__ == "__main__":
    main()
