from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from infrastructure.machine.certificates import service_certificate
from infrastructure.machine.certificates.certificate_facts import CertificateFacts, read_facts
from infrastructure.machine.certificates.keeper import certificate_keeper
from infrastructure.machine.certificates.service_certificate import install, provide
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.tls import CertificateFiles, TlsContexts
from tests.unit.infrastructure.machine.certificates.issuing import (
    DAY,
    DIRECTORY,
    NOW,
    issued_pair,
)
from tests.unit.moving_clock import moving_clock

NAMES = ("mail.a.test", "links.a.test")


def facts_of(files: CertificateFiles) -> CertificateFacts:
    facts = read_facts(files)
    assert facts
    return facts


def test_a_new_machine_has_a_self_signed_certificate_for_all_names(tmp_path: Path) -> None:
    files = provide(tmp_path, NAMES)
    facts = facts_of(files)
    assert facts.is_self_signed
    assert facts.names == {*NAMES, "localhost"}
    before = files.certificate.read_bytes()
    assert provide(tmp_path, NAMES).certificate.read_bytes() == before


def test_a_self_signed_certificate_is_made_again_for_further_names(tmp_path: Path) -> None:
    provide(tmp_path, NAMES[:1])
    assert facts_of(provide(tmp_path, NAMES)).names > set(NAMES)


def test_an_authoritys_certificate_stays_until_its_end(tmp_path: Path) -> None:
    files = TlsFiles(tmp_path)
    files.make_folders()
    install(files, issued_pair(NAMES[:1]))
    with moving_clock(NOW + 89 * DAY) as clock:
        assert not facts_of(provide(tmp_path, NAMES)).is_self_signed
        clock.passes(DAY)
        assert facts_of(provide(tmp_path, NAMES)).is_self_signed


def test_a_damaged_pair_is_replaced(tmp_path: Path) -> None:
    files = provide(tmp_path, NAMES)
    files.key.write_text("half a ke")
    assert facts_of(provide(tmp_path, NAMES))


def provide_again(data_dir: Path) -> None:
    provide(data_dir, NAMES)


def start_keeper(data_dir: Path) -> None:
    certificate_keeper(data_dir, NAMES, DIRECTORY, "")


@pytest.mark.parametrize("kills_after", [0, 1, 2])
@pytest.mark.parametrize("start", [provide_again, start_keeper])
def test_a_replacement_that_a_kill_interrupted_is_finished_by_the_next_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kills_after: int,
    start: Callable[[Path], None],
) -> None:
    provide(tmp_path, NAMES)
    pair = issued_pair(NAMES)
    replace_private = service_certificate.replace_private
    calls = []

    def replace_or_die(path: Path, text: str) -> None:
        if len(calls) > kills_after:
            raise KeyboardInterrupt
        calls.append(path)
        replace_private(path, text)

    monkeypatch.setattr(service_certificate, "replace_private", replace_or_die)
    with suppress(KeyboardInterrupt):
        install(TlsFiles(tmp_path), pair)
    monkeypatch.undo()
    with moving_clock(NOW):
        start(tmp_path)
    files = TlsFiles(tmp_path).service
    assert files.certificate.read_bytes() == pair.certificate
    assert files.key.read_bytes() == pair.key
    assert not files.certificate.with_name("unfinished.pem").exists()


def test_a_watcher_keeps_the_former_pair_while_two_files_do_not_match(tmp_path: Path) -> None:
    files = provide(tmp_path, NAMES)
    contexts = TlsContexts(files)
    former = contexts.current()
    other = provide(tmp_path / "other", NAMES)
    shutil.copy(other.key, files.key)
    assert contexts.current() is former
    shutil.copy(other.certificate, files.certificate)
    assert contexts.current() is not former
