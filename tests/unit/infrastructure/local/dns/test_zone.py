"""Keep the user's DNS records, and answer from them before the service's."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.dns.answers import Answer, LocalAnswers
from infrastructure.local.dns.resolver import Records
from infrastructure.local.dns.zone import LocalZone
from tests.unit.infrastructure.local.dns.fakes import FakeService

MX: Records = [("MX", "10 mail.a.com")]
TEXTS: Records = [("TXT", "v=spf1 -all"), ("TXT", 'é "quoted"; x')]


@pytest.fixture
def zone(tmp_path: Path) -> LocalZone:
    return LocalZone(tmp_path / "dns")


def test_records_are_read_as_they_were_put(zone: LocalZone) -> None:
    zone.put("a.com", MX)
    zone.put("s1._domainkey.a.com", TEXTS)
    assert zone.lookup("a.com") == MX
    assert zone.all() == {"a.com": MX, "s1._domainkey.a.com": TEXTS}
    assert zone.lookup("b.com") is None


def test_the_records_put_last_replace_those_before(zone: LocalZone) -> None:
    zone.put("a.com", MX)
    zone.put("a.com", TEXTS)
    assert zone.all() == {"a.com": TEXTS}


def test_a_deleted_name_does_not_exist(zone: LocalZone) -> None:
    zone.put("a.com", MX)
    assert zone.delete("a.com") is True
    assert zone.delete("a.com") is False
    assert zone.lookup("a.com") is None


def test_the_records_are_there_for_the_next_start(zone: LocalZone, tmp_path: Path) -> None:
    zone.put("a.com", MX)
    assert LocalZone(tmp_path / "dns").lookup("a.com") == MX


def test_a_name_of_the_longest_kind_can_be_stored(zone: LocalZone) -> None:
    name = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
    zone.put(name, MX)
    assert zone.all() == {name: MX}


@pytest.mark.parametrize("name", ["", ".", "..", "../secret", "/etc/passwd", "a\\/b", "a\0b", "é"])
def test_no_other_file_is_read(zone: LocalZone, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text('[{"type": "A", "value": "127.0.0.1"}]')
    assert zone.lookup(name) is None


def test_a_file_that_is_being_written_is_no_name(zone: LocalZone, tmp_path: Path) -> None:
    (tmp_path / "dns" / "0123456789abcdef~").write_text("[")
    assert zone.all() == {}


def test_the_users_records_come_before_those_of_the_service(zone: LocalZone) -> None:
    answers = LocalAnswers(zone, FakeService())
    assert answers.lookup("shop.test") == [("CNAME", "postfinch.test")]
    zone.put("shop.test", MX)
    zone.put("a.com", TEXTS)
    assert answers.lookup("shop.test") == MX
    assert answers.all() == [Answer("a.com", TEXTS, True), Answer("shop.test", MX, True)]
    zone.delete("shop.test")
    assert answers.get("shop.test") == Answer("shop.test", [("CNAME", "postfinch.test")], False)
    assert answers.get("b.com") is None
