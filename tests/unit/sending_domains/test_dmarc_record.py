"""One DMARC record is recommended everywhere, and its reports come to this service."""

from __future__ import annotations

import re
import subprocess

import pytest

from chalicelib.inbound.addresses import DOMAIN_REPORT_LOCAL_PARTS
from chalicelib.sending_domains.dmarc_record import LOCAL_PART, dmarc_record
from tests.unit.infrastructure.clouds import ROOT

RECORD = re.compile(r"v=DMARC1; p=none[^`\"'\n]*")
# The second one is that of the service's own domain, which takes its reports itself
RECOMMENDED = re.compile(
    r"v=DMARC1; p=none; rua=mailto:dmarc@(bounces\.(example\.com|<domain>)|mail\.example\.com)"
)


@pytest.mark.parametrize(
    ("return_path", "address"),
    [
        ("bounces.example.com", "dmarc@bounces.example.com"),
        ("example.com", "dmarc@example.com"),
        ("mail.example.com", "dmarc@mail.example.com"),
        ("mail.service.test", "dmarc@bounces.news.example.com"),
    ],
)
def test_reports_go_to_a_bounce_domain_of_the_same_owner(return_path: str, address: str) -> None:
    record = dmarc_record("news.example.com", return_path)
    assert record == f"v=DMARC1; p=none; rua=mailto:{address}"


def test_the_relay_takes_reports_at_the_recommended_address() -> None:
    assert LOCAL_PART in DOMAIN_REPORT_LOCAL_PARTS


def test_all_documents_recommend_the_same_record() -> None:
    command = [
        "git",
        "ls-files",
        "*.md",
        "docs/*.json",
        "chalicelib/openapi",
        "console",
        "postfinch",
    ]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    records = {
        record
        for name in names.split()
        if not name.endswith(".png")
        for record in RECORD.findall((ROOT / name).read_text(encoding="utf-8", errors="replace"))
    }
    assert records
    assert all(RECOMMENDED.fullmatch(record) for record in records), records
