from __future__ import annotations

import os
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from infrastructure.local import certificates
from tests.unit.relay.test_tls import shake_hands

_YEAR = 366 * 86_400


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_a_client_that_trusts_the_authority_trusts_this_machine(tmp_path: Path, name: str) -> None:
    files = certificates.provide(tmp_path)
    trust = ssl.create_default_context(cafile=str(files.authority))
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    assert shake_hands(certificates.server_context(tmp_path), trust, name)


def test_a_client_that_does_not_trust_it_refuses(tmp_path: Path) -> None:
    certificates.provide(tmp_path)
    client = ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(certificates.server_context(tmp_path), client, "localhost")


def test_the_authority_can_name_no_other_machine(tmp_path: Path) -> None:
    files = certificates.provide(tmp_path)
    authority = x509.load_pem_x509_certificate(files.authority.read_bytes())
    names = authority.extensions.get_extension_for_class(x509.NameConstraints)
    assert names.critical
    permitted = names.value.permitted_subtrees or []
    assert [str(each.value) for each in permitted] == ["localhost", "127.0.0.0/8", "::1/128"]


def test_certificates_are_kept_from_one_start_to_the_next(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in certificates.provide(tmp_path)]
    assert [path.read_bytes() for path in certificates.provide(tmp_path)] == before


def test_a_certificate_is_renewed_after_a_year_by_the_same_authority(tmp_path: Path) -> None:
    files = certificates.provide(tmp_path)
    authority, certificate = files.authority.read_bytes(), files.certificate.read_bytes()
    os.utime(files.certificate, (time.time() - _YEAR, time.time() - _YEAR))
    certificates.provide(tmp_path)
    assert files.authority.read_bytes() == authority
    assert files.certificate.read_bytes() != certificate


def test_without_the_authoritys_key_both_are_made_anew(tmp_path: Path) -> None:
    files = certificates.provide(tmp_path)
    (tmp_path / "tls" / "authority-key.pem").unlink()
    certificates.provide(tmp_path)
    leaf, authority = x509.load_pem_x509_certificates(files.certificate.read_bytes())
    leaf.verify_directly_issued_by(authority)
    assert authority == x509.load_pem_x509_certificate(files.authority.read_bytes())


def test_a_second_judge_accepts_the_chain_for_this_machine_only(tmp_path: Path) -> None:
    files = certificates.provide(tmp_path)
    leaf, authority = x509.load_pem_x509_certificates(files.certificate.read_bytes())
    builder = PolicyBuilder().store(Store([authority]))
    assert builder.build_server_verifier(x509.DNSName("localhost")).verify(leaf, [])
    with pytest.raises(VerificationError):
        builder.build_server_verifier(x509.DNSName("bank.example")).verify(leaf, [])


def test_further_names_and_addresses_are_in_the_certificate(tmp_path: Path) -> None:
    files = certificates.provide(tmp_path, ("postfinch", "10.0.0.8"))
    trust = ssl.create_default_context(cafile=str(files.authority))
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    for name in ("postfinch", "10.0.0.8", "localhost", "127.0.0.1"):
        assert shake_hands(certificates.server_context(tmp_path), trust, name)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(certificates.server_context(tmp_path), trust, "10.0.0.9")


def test_a_new_name_makes_the_authority_anew_and_one_less_does_not(tmp_path: Path) -> None:
    def authority(*names: str) -> bytes:
        return certificates.provide(tmp_path, names).authority.read_bytes()

    first = authority()
    second = authority("postfinch")
    assert second != first
    assert authority() == authority("postfinch") == second
    third = authority("mail.lan")
    assert third != second
    assert authority("postfinch", "mail.lan") == third


def test_every_user_may_read_the_authority_that_programs_are_to_trust(tmp_path: Path) -> None:
    assert certificates.provide(tmp_path).authority.stat().st_mode & 0o777 == 0o644


def test_only_the_owner_can_read_the_keys(tmp_path: Path) -> None:
    files = certificates.provide(tmp_path)
    for path in (files.key, tmp_path / "tls" / "authority-key.pem"):
        assert path.stat().st_mode & 0o777 == 0o600
