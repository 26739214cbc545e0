from __future__ import annotations

import os
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509

from infrastructure.machine.certificates.server_certificates import ServerCertificates
from infrastructure.machine.certificates.service_certificate import provide
from infrastructure.machine.certificates.tls_files import TlsFiles
from tests.unit.infrastructure.machine.certificates.issuing import (
    NOW,
    issued_pair,
    store_tracking_certificate,
)
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.relay.test_tls import shake_hands

SERVICE = ("mail.a.test",)


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moving_clock(NOW) as moving:
        yield moving


@pytest.fixture
def data_dir(tmp_path: Path, clock: Clock) -> Path:
    provide(tmp_path, SERVICE)
    return tmp_path


def trusting_client() -> ssl.SSLContext:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    return client


def names_of(context: ssl.SSLContext, name: str | None) -> set[str]:
    """Return the names of the certificate that a client is shown which asks for ``name``."""
    certificate = shake_hands(context, trusting_client(), name)  # type: ignore[arg-type]
    assert certificate
    extensions = x509.load_der_x509_certificate(certificate).extensions
    extension = extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return set(extension.value.get_values_for_type(x509.DNSName))


def test_the_name_that_a_client_asks_for_chooses_the_certificate(data_dir: Path) -> None:
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    store_tracking_certificate(data_dir, "xn--bcher-kva.test", issued_pair(["xn--bcher-kva.test"]))
    context = ServerCertificates(data_dir).context()
    assert names_of(context, "a.test") == {"a.test"}
    assert names_of(context, "A.Test") == {"a.test"}
    assert names_of(context, "bücher.test") == {"xn--bcher-kva.test"}
    for name in ("mail.a.test", "stranger.test", "localhost", None):
        assert "mail.a.test" in names_of(context, name)


def test_a_name_never_leads_out_of_the_folder(data_dir: Path) -> None:
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    outside = issued_pair(["out.test"])
    (data_dir / "tls" / "out.test.pem").write_bytes(outside.certificate + outside.key)
    certificates = ServerCertificates(data_dir)
    assert certificates._of_tracking_domain("a.test")
    for name in ("../out.test", "..", "./a.test", "/etc/passwd", "a.test/", "a\0.test", "*.test"):
        assert certificates._of_tracking_domain(name) is None


def test_a_new_file_is_used_at_once_and_a_changed_one_after_a_second(
    data_dir: Path, clock: Clock
) -> None:
    context = ServerCertificates(data_dir).context()
    assert "mail.a.test" in names_of(context, "a.test")
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    assert names_of(context, "a.test") == {"a.test"}
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test", "b.test"]))
    assert names_of(context, "a.test") == {"a.test"}
    clock.passes(1)
    assert names_of(context, "a.test") == {"a.test", "b.test"}


def test_a_file_is_looked_at_once_a_second(
    data_dir: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    context = ServerCertificates(data_dir).context()
    names_of(context, "a.test")
    looks = []
    stat = os.stat

    def counting(target: object, *args: object, **options: object) -> os.stat_result:
        looks.append(str(target))
        return stat(target, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "stat", counting)
    for _ in range(5):
        names_of(context, "a.test")
        names_of(context, "mail.a.test")
    assert str(path) not in looks
    clock.passes(1)
    names_of(context, "a.test")
    assert str(path) in looks


def test_the_services_certificate_is_loaded_without_a_restart(data_dir: Path, clock: Clock) -> None:
    context = ServerCertificates(data_dir).context()
    assert names_of(context, None) == {"mail.a.test", "localhost"}
    new = provide(data_dir / "other", ["mail.a.test", "links.a.test"])
    files = TlsFiles(data_dir).service
    shutil.copy(new.key, files.key)
    clock.passes(1)
    assert names_of(context, None) == {"mail.a.test", "localhost"}  # the pair does not match yet
    shutil.copy(new.certificate, files.certificate)
    clock.passes(1)
    assert names_of(context, None) == {"mail.a.test", "links.a.test", "localhost"}


def test_a_removed_file_leads_back_to_the_services(data_dir: Path, clock: Clock) -> None:
    path = store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    context = ServerCertificates(data_dir).context()
    assert names_of(context, "a.test") == {"a.test"}
    path.unlink()
    clock.passes(1)
    assert "mail.a.test" in names_of(context, "a.test")


def test_a_damaged_file_leaves_the_services_and_is_logged_once_a_second(
    data_dir: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    path = store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    path.write_text("half a certi")
    context = ServerCertificates(data_dir).context()
    for _ in range(3):
        assert "mail.a.test" in names_of(context, "a.test")
    assert caplog.text.count("the certificate of a.test cannot be used") == 1
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    clock.passes(1)
    assert names_of(context, "a.test") == {"a.test"}


def test_few_names_are_kept_in_memory(data_dir: Path) -> None:
    certificates = ServerCertificates(data_dir, most_names=2)
    context = certificates.context()
    for name in ("a.test", "b.test", "c.test"):
        store_tracking_certificate(data_dir, name, issued_pair([name]))
    for name in ("a.test", "b.test", "a.test", "c.test", "b.test"):
        assert names_of(context, name) == {name}
        names_of(context, "stranger.test")
    assert list(certificates._tracking) == ["c.test", "b.test"]


def test_the_operators_files_are_used_as_they_are(data_dir: Path) -> None:
    own = provide(data_dir / "operator", ["own.a.test"])
    context = ServerCertificates(data_dir, own).context()
    assert "own.a.test" in names_of(context, "anything.test")


def test_http_is_agreed_on_under_every_certificate(data_dir: Path) -> None:
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    server = ServerCertificates(data_dir).context()
    for name in ("a.test", "mail.a.test"):
        client = trusting_client()
        client.set_alpn_protocols(["h2", "http/1.1"])
        assert agreed(server, client, name) == ("TLSv1.3", "http/1.1")


@pytest.mark.parametrize("ciphers", ["AES128-GCM-SHA256", "ECDHE+AES:!AESGCM:!AESCCM"])
def test_ciphers_without_forward_secrecy_or_authentication_are_refused(
    data_dir: Path, ciphers: str
) -> None:
    store_tracking_certificate(data_dir, "a.test", issued_pair(["a.test"]))
    client = trusting_client()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    context = ServerCertificates(data_dir).context()
    assert agreed(context, client, "a.test")[0] == "TLSv1.2"
    client.set_ciphers(ciphers)
    for name in ("a.test", "mail.a.test"):
        with pytest.raises(ssl.SSLError):
            shake_hands(context, client, name)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_old_protocol_versions_are_refused(data_dir: Path) -> None:
    client = trusting_client()
    client.set_ciphers("ALL:@SECLEVEL=0")
    client.minimum_version = ssl.TLSVersion.TLSv1
    client.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        shake_hands(ServerCertificates(data_dir).context(), client, "mail.a.test")


def agreed(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> tuple[str, str]:
    """Return the version of TLS and the protocol above it that both sides agree on."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[0].version() or "", ends[0].selected_alpn_protocol() or ""


def test_a_challenge_is_answered_while_it_is_open(data_dir: Path) -> None:
    certificates = ServerCertificates(data_dir)
    folder = TlsFiles(data_dir).challenges
    (folder / "a-token_1").write_text("a-token_1.thumbprint")
    (data_dir / "tls" / "secret").write_text("secret")
    (folder / "token.new").write_text("unfinished")
    assert certificates.challenge("a-token_1") == "a-token_1.thumbprint"
    for token in ("", ".", "..", "../secret", "..%2Fsecret", "a-token_1/", "token.new", "x\0y"):
        assert certificates.challenge(token) is None
    assert certificates.challenge("a" * 5000) is None
    assert certificates.challenge("missing") is None
    assert certificates.challenge("ä") is None
