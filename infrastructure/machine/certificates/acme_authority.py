"""Obtain certificates from an ACME authority (RFC 8555), which checks the names by HTTP-01."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from acme import challenges, crypto_util, messages
from acme.client import ClientV2
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from infrastructure.machine.certificates.acme_account import AcmeAccount
from infrastructure.machine.certificates.acme_errors import failure_of
from infrastructure.machine.certificates.authority_network import AuthorityNetwork
from infrastructure.machine.certificates.certificate_facts import with_directory
from infrastructure.machine.certificates.challenges import OpenChallenges
from infrastructure.machine.certificates.order_failure import Failure, OrderFailed
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.self_signed import PemPair, key_pem

#: How long an order may take, validation included
_ORDER_TIME = datetime.timedelta(seconds=90)


class AcmeAuthority:
    """An authority, by the address of its directory."""

    def __init__(self, directory: str, files: TlsFiles, contact: str, ca_file: Path | None) -> None:
        """``contact`` may be empty; ``ca_file`` is for test authorities (``AuthorityNetwork``)."""
        self._directory = directory
        self._files = files
        self._account = AcmeAccount(files.account(directory), contact)
        self._ca_file = ca_file

    def obtain(self, names: Sequence[str]) -> PemPair:
        """Return a certificate for all of the names, with a new key (ECDSA P-256).

        It takes some seconds, at most two minutes. Raises :class:`OrderFailed`.
        """
        try:
            network = AuthorityNetwork(self._account.key(), self._ca_file)
        except (OSError, ValueError) as error:
            raise OrderFailed(failure_of(error, None, is_general=True)) from error
        try:
            return self._obtain(network, names)
        except OrderFailed:
            raise
        except Exception as error:  # whatever an authority answers, other names have their turn
            is_general = network.account is None
            failure = failure_of(error, network.retry_after, is_general=is_general)
            raise OrderFailed(failure) from error
        finally:
            network.session.close()

    def _obtain(self, network: AuthorityNetwork, names: Sequence[str]) -> PemPair:
        client = ClientV2(ClientV2.get_directory(self._directory, network), network)
        try:
            self._account.open(client)
            return self._order(client, names)
        except messages.Error as error:
            if error.code != "accountDoesNotExist":
                raise
        self._account.forget()
        network.account = None
        self._account.open(client)
        return self._order(client, names)

    def _order(self, client: ClientV2, names: Sequence[str]) -> PemPair:
        key = ec.generate_private_key(ec.SECP256R1())
        order = client.new_order(crypto_util.make_csr(key_pem(key), list(names)))
        with OpenChallenges(self._files.challenges) as open_challenges:
            for authorization in order.authorizations:
                # An authority may remember that it has validated a name
                if authorization.body.status == messages.STATUS_PENDING:
                    _answer(client, authorization, open_challenges)
            # The library compares it with the local time
            deadline = datetime.datetime.now() + _ORDER_TIME
            chain = client.poll_and_finalize(order, deadline).fullchain_pem
        _require_match(chain, key)
        return PemPair(with_directory(chain, self._directory).encode(), key_pem(key))


def _answer(
    client: ClientV2,
    authorization: messages.AuthorizationResource,
    open_challenges: OpenChallenges,
) -> None:
    for challenge in authorization.body.challenges:
        if isinstance(challenge.chall, challenges.HTTP01):
            response, key_authorization = challenge.response_and_validation(client.net.key)
            open_challenges.publish(challenge.chall.encode("token"), key_authorization)
            client.answer_challenge(challenge, response)
            return
    name = authorization.body.identifier.value
    raise OrderFailed(Failure(f"the authority does not check {name} by HTTP-01"))


def _require_match(chain: str, key: ec.EllipticCurvePrivateKey) -> None:
    certificate = x509.load_pem_x509_certificate(chain.encode())
    if certificate.public_key() != key.public_key():
        raise OrderFailed(Failure("the authority's certificate is for another key"))
