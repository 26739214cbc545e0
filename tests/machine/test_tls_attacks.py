"""Try weak TLS on each port of production on one machine from another network."""

from __future__ import annotations

import ssl
import warnings

import pytest
from OpenSSL import SSL

from tests.machine.machine import DOMAIN
from tests.machine.stranger import Stranger, exchange

TLS_PORTS = ("HTTPS_PORT", "SUBMISSIONS_PORT")
STARTTLS_PORTS = ("SUBMISSION_PORT", "INBOUND_PORT")

each_port = pytest.mark.parametrize("port", [*TLS_PORTS, *STARTTLS_PORTS])


def lenient(ciphers: str = "ALL:@SECLEVEL=0") -> ssl.SSLContext:
    """Return a context that takes any certificate, version and cipher."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers(ciphers)
    return context


def shake_hands(
    stranger: Stranger, port: str, context: ssl.SSLContext, host: str | None = DOMAIN
) -> tuple[str | None, bytes | None]:
    """Return the version and the certificate of a handshake."""
    if port in TLS_PORTS:
        connection = stranger.secure(port, context=context, host=host)
    else:
        client = stranger.smtp(port)
        client.ehlo("stranger.example")
        assert client.docmd("STARTTLS")[0] == 220
        assert client.sock is not None
        connection = context.wrap_socket(client.sock, server_hostname=host)
    with connection:
        return connection.version(), connection.getpeercert(binary_form=True)


@each_port
def test_versions_below_1_2_are_refused(stranger: Stranger, port: str) -> None:
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        context = lenient()
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
            context.minimum_version = context.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionError)):
            shake_hands(stranger, port, context)
    for version, name in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
        context = lenient()
        context.minimum_version = context.maximum_version = version
        assert shake_hands(stranger, port, context)[0] == name


@each_port
def test_ciphers_without_forward_secrecy_or_with_old_algorithms_are_refused(
    stranger: Stranger, port: str
) -> None:
    for ciphers in ("kRSA", "aNULL:eNULL", "SHA1", "3DES:RC4:DES:MD5:SEED:IDEA:CAMELLIA"):
        try:
            context = lenient(f"{ciphers}:@SECLEVEL=0")
        except ssl.SSLError:  # this OpenSSL has none of them
            continue
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            shake_hands(stranger, port, context)


def test_https_has_authenticated_encryption_only(stranger: Stranger) -> None:
    context = lenient("ECDHE:!AESGCM:!CHACHA20:!AESCCM:@SECLEVEL=0")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        shake_hands(stranger, "HTTPS_PORT", context)


@each_port
def test_an_unknown_name_gets_the_certificate_of_the_service(stranger: Stranger, port: str) -> None:
    pem = stranger.machine.certificate.read_text()
    for name in ("other.example", "localhost", "x" * 63 + ".example", None):
        _, certificate = shake_hands(stranger, port, lenient(), name)
        assert certificate == ssl.PEM_cert_to_DER_cert(pem)


def test_http_2_is_not_spoken(stranger: Stranger) -> None:
    context = stranger.context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with stranger.secure(context=context) as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"
        assert exchange(connection, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("port", TLS_PORTS)
def test_a_client_cannot_negotiate_again(stranger: Stranger, port: str) -> None:
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_max_proto_version(SSL.TLS1_2_VERSION)
    with stranger.connect(port) as transport:
        transport.settimeout(None)
        connection = SSL.Connection(context, transport)
        connection.set_connect_state()
        connection.do_handshake()
        assert connection.renegotiate()
        with pytest.raises(SSL.Error):
            connection.do_handshake()
