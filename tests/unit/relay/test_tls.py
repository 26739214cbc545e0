from __future__ import annotations

import logging
import os
import shutil
import ssl
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509

from relay import tls
from relay.tls import CertificateFiles, TlsContexts, self_signed


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, hostname: str) -> bytes | None:
    """Return the certificate that the client was shown; raises SSLError if it does not trust it."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=hostname),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[0].getpeercert(binary_form=True)


@pytest.mark.parametrize("hostname", ["mail.example.test", "localhost", "127.0.0.1", "::1"])
def test_the_self_signed_certificate_is_a_trust_anchor_for_its_names(
    certificate: CertificateFiles, hostname: str, tmp_path: Path
) -> None:
    files = self_signed(tmp_path, "mail.example.test")
    trust = ssl.create_default_context(cafile=str(files.certificate))
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    assert shake_hands(TlsContexts(files).current(), trust, hostname)


def test_the_self_signed_certificate_is_made_once(tmp_path: Path) -> None:
    first = self_signed(tmp_path / "new" / "directory", "a.test")
    before = first.certificate.read_bytes()
    again = self_signed(tmp_path / "new" / "directory", "a.test")
    assert again == first
    assert again.certificate.read_bytes() == before


def test_only_the_owner_can_read_the_key(tmp_path: Path) -> None:
    files = self_signed(tmp_path, "a.test")
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600


def test_processes_that_start_at_once_make_one_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostnames: list[str] = []
    make = tls._make

    def make_slowly(files: CertificateFiles, hostname: str) -> None:
        hostnames.append(hostname)
        threading.Event().wait(0.05)
        make(files, hostname)

    monkeypatch.setattr(tls, "_make", make_slowly)
    with ThreadPoolExecutor(8) as starts:
        pairs = list(starts.map(lambda _: self_signed(tmp_path, "a.test"), range(8)))
    assert len(hostnames) == 1
    TlsContexts(pairs[0])


def test_a_certificate_lasts(tmp_path: Path) -> None:
    files = self_signed(tmp_path, "a.test")
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert life.days > 3650


def test_files_that_do_not_change_are_loaded_once(certificate: CertificateFiles) -> None:
    contexts = TlsContexts(certificate)
    assert contexts.current() is contexts.current()


def replace_pair(old: CertificateFiles, new: CertificateFiles) -> None:
    for path, source in ((old.key, new.key), (old.certificate, new.certificate)):
        copy = path.with_suffix(".copy")
        shutil.copy(source, copy)
        os.replace(copy, path)


@pytest.mark.parametrize("follows", [False, True])
def test_a_renewed_certificate_is_used_from_the_next_handshake(
    tmp_path: Path, follows: bool
) -> None:
    files = self_signed(tmp_path / "old", "localhost")
    renewed = self_signed(tmp_path / "new", "localhost")
    trust = ssl.create_default_context(cafile=str(renewed.certificate))
    contexts = TlsContexts(files)
    context = contexts.following() if follows else contexts.current()
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(context, trust, "localhost")
    replace_pair(files, renewed)
    assert shake_hands(context if follows else contexts.current(), trust, "localhost")


def test_the_last_certificate_stays_in_use_when_files_do_not_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = self_signed(tmp_path, "localhost")
    trust = ssl.create_default_context(cafile=str(files.certificate))
    contexts = TlsContexts(files)
    files.certificate.write_text("half a certi")
    with caplog.at_level(logging.ERROR, "relay"):
        assert shake_hands(contexts.current(), trust, "localhost")
        contexts.current()
    assert [record.message for record in caplog.records] == ["certificate not reloaded"]
    files.certificate.unlink()
    assert shake_hands(contexts.current(), trust, "localhost")


def test_files_that_cannot_be_used_at_the_start_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        TlsContexts(CertificateFiles(tmp_path / "a", tmp_path / "b"))


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_protocol_versions_are_refused(certificate: CertificateFiles) -> None:
    client = ssl.create_default_context(cafile=str(certificate.certificate))
    client.set_ciphers("ALL:@SECLEVEL=0")
    client.minimum_version = ssl.TLSVersion.TLSv1
    client.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        shake_hands(TlsContexts(certificate).current(), client, "localhost")
