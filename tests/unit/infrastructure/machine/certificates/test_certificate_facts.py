from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.machine.certificates import certificate_facts
from infrastructure.machine.certificates.certificate_facts import (
    CertificateFacts,
    FactsCache,
    read_facts,
)
from relay.tls import CertificateFiles, self_signed
from tests.unit.infrastructure.machine.certificates.issuing import (
    DAY,
    DIRECTORY,
    NOW,
    issued_pair,
    store_tracking_certificate,
)


def test_the_file_of_a_tracking_domain_says_where_it_comes_from(tmp_path: Path) -> None:
    path = store_tracking_certificate(tmp_path, "a.test", issued_pair(["a.test"], days=6))
    assert read_facts(CertificateFiles(path, path)) == CertificateFacts(
        frozenset(["a.test"]), NOW, NOW + 6 * DAY, False, DIRECTORY
    )


def test_what_is_left_is_a_part_of_the_lifetime() -> None:
    facts = CertificateFacts(frozenset(), NOW, NOW + 90 * DAY, False, "")
    assert facts.remaining(NOW) == 1
    assert facts.remaining(NOW + 60 * DAY) == pytest.approx(1 / 3)
    assert facts.remaining(NOW + 180 * DAY) == -1


def test_a_certificate_with_the_key_of_another_one_cannot_be_used(tmp_path: Path) -> None:
    files = self_signed(tmp_path / "a", "a.test")
    other = self_signed(tmp_path / "b", "a.test")
    assert read_facts(files)
    assert read_facts(CertificateFiles(files.certificate, other.key)) is None


def test_a_file_is_read_again_when_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = []

    def read(files: CertificateFiles) -> CertificateFacts | None:
        readings.append(files)
        return read_facts(files)

    monkeypatch.setattr(certificate_facts, "read_facts", read)
    path = store_tracking_certificate(tmp_path, "a.test", issued_pair(["a.test"]))
    cache, files = FactsCache(), CertificateFiles(path, path)
    for _ in range(3):
        assert cache.facts(files)
    assert len(readings) == 1
    path.unlink()
    assert cache.facts(files) is None
    store_tracking_certificate(tmp_path, "a.test", issued_pair(["a.test", "b.test"]))
    facts = cache.facts(files)
    assert facts
    assert facts.names == {"a.test", "b.test"}
