"""mailauth, another verifier, comes to the same results."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from chalicelib.mail_verdicts.judge import judge
from chalicelib.mail_verdicts.model import Origin
from tests.node_packages import install
from tests.unit.dkim.signed_mail import (
    ED25519_RECORD,
    KEY_NAME,
    MESSAGE,
    RECORD,
    seal,
    sealed,
    sign,
    sign_by_hand,
)
from tests.unit.mail_verdicts.zones import Zone, answer_from

OURS = Origin("192.0.2.1", "mail.sender.test", "bounce@sender.test")
FORGER = Origin("203.0.113.9", "mail.other.test", "bounce@sender.test")
OTHER = Origin("198.51.100.9", "mail.other.test", "bounce@other.test")

ZONE: Zone = {
    "sender.test": {"TXT": ["v=spf1 include:spf.sender.test -all"]},
    "spf.sender.test": {"TXT": ["v=spf1 ip4:192.0.2.0/24 ~all"]},
    "other.test": {"TXT": ["v=spf1 ip4:198.51.100.9 -all"]},
    KEY_NAME: {"TXT": [RECORD]},
    "s1._domainkey.edward.sender.test": {"TXT": [ED25519_RECORD]},
    "_dmarc.sender.test": {"TXT": ["v=DMARC1; p=reject"]},
} | {f"s1._domainkey.{name}.test": {"TXT": [RECORD]} for name in ("one", "two", "three")}


class Case(NamedTuple):
    """A message, who sent it, and results on which both agree."""

    message: bytes
    origin: Origin
    dkim: list[str]
    spf: str
    dmarc: str
    arc: str


EDWARD = sign_by_hand({"d": "edward.sender.test"}, b"Hello Bob,\r\n it works.\r\n")
CASES = [
    Case(sign(), OURS, ["pass"], "pass", "pass", "none"),
    Case(sign(canonicalize=(b"simple", b"simple")), OTHER, ["pass"], "pass", "pass", "none"),
    Case(EDWARD, OTHER, ["pass"], "pass", "pass", "none"),
    Case(EDWARD.replace(b"Ann", b"Eve"), OTHER, ["fail"], "pass", "fail", "none"),
    Case(sign().replace(b"Ann", b"Eve"), OTHER, ["fail"], "pass", "fail", "none"),
    Case(MESSAGE, OURS, [], "pass", "pass", "none"),
    Case(MESSAGE, OTHER, [], "pass", "fail", "none"),
    Case(MESSAGE, FORGER, [], "fail", "fail", "none"),
    Case(sealed(1), OTHER, ["pass"], "pass", "pass", "pass"),
    Case(sealed(3), OTHER, ["pass"], "pass", "pass", "pass"),
    Case(sealed(2).replace(b"spf=pass", b"spf=fail"), OTHER, ["pass"], "pass", "pass", "fail"),
    Case(seal(sealed(1).replace(b"works", b"is new"), "two.test"), OTHER, ["fail"], "pass", "fail",
         "pass"),
]  # fmt: skip


@pytest.fixture
def _zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from answer_from(ZONE, monkeypatch)


@pytest.mark.usefixtures("_zone")
@pytest.mark.parametrize("case", CASES)
def test_our_results_are_these(case: Case) -> None:
    verdicts = judge(case.message, case.origin)
    results = [each.result for each in verdicts.dkim]
    assert (results, verdicts.spf.result) == (case.dkim, case.spf)
    assert (verdicts.dmarc.result, verdicts.arc.result) == (case.dmarc, case.arc)


def test_mailauth_has_the_same_results() -> None:
    folder = install(Path(__file__).parent / "mailauth")
    cases = [
        {
            "message": b64encode(case.message).decode(),
            **{"ip": case.origin.peer_ip, "helo": case.origin.helo},
            "sender": case.origin.mail_from,
        }
        for case in CASES
    ]
    process = subprocess.run(
        ("node", "judge.mjs"),
        **{"cwd": folder, "capture_output": True, "text": True, "timeout": 60, "check": False},
        input=json.dumps({"cases": cases, "zone": ZONE}),
    )
    assert process.returncode == 0, process.stderr
    for case, theirs in zip(CASES, json.loads(process.stdout), strict=True):
        dkim = [result for result in theirs["dkim"] if result != "none"]
        # mailauth calls a changed body neutral
        dkim = ["fail" if result == "neutral" else result for result in dkim]
        results = dkim, theirs["spf"], theirs["dmarc"], theirs["arc"]
        assert results == (case.dkim, case.spf, case.dmarc, case.arc), case.message[:200]
