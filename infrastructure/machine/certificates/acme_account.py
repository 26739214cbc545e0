"""Keep the account at an ACME authority: its key, its address, and the contact that was told."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TypedDict

from acme import errors, messages
from acme.client import ClientV2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from josepy.jwk import JWK, JWKEC

from infrastructure.local.supervisor.private_files import replace_private
from relay.self_signed import key_pem

log = logging.getLogger(__name__)


class _StoredAccount(TypedDict):
    #: The account's address
    uri: str
    #: An address of mail, or empty
    contact: str


class AcmeAccount:
    """The account of a folder, made and registered when it is first used."""

    def __init__(self, folder: Path, contact: str) -> None:
        """``contact`` is the address of mail that the authority may write to, or empty."""
        self._contact = contact
        self._key = folder / "account-key.pem"
        self._registration = folder / "registration.json"

    def key(self) -> JWK:
        """Return the account's key (ECDSA P-256); raises ValueError or OSError."""
        if not self._key.exists():
            self._key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_private(self._key, key_pem(ec.generate_private_key(ec.SECP256R1())).decode())
        try:
            return JWKEC(key=load_pem_private_key(self._key.read_bytes(), None))
        except ValueError:
            text = f"{self._key} is damaged: remove it, and the next order makes another account"
            raise ValueError(text) from None

    def open(self, client: ClientV2) -> None:
        """Let a client act for the account; it is registered first if it must be.

        The terms of the authority are agreed to. What the client raises passes through.
        """
        account = self._read()
        if account is None:
            uri = self._register(client)
            self._write({"uri": uri, "contact": self._contact})
        else:
            uri = account["uri"]
            if account["contact"] != self._contact:
                self._change_contact(client, uri)
        client.net.account = _resource(uri)

    def forget(self) -> None:
        """Register anew next time: the authority does not know the account."""
        self._registration.unlink(missing_ok=True)

    def _register(self, client: ClientV2) -> str:
        registration = messages.NewRegistration.from_data(
            email=self._contact or None, terms_of_service_agreed=True
        )
        try:
            return str(client.new_account(registration).uri)
        except errors.ConflictError as error:  # the key was kept, and its registration lost
            return error.location

    def _change_contact(self, client: ClientV2, uri: str) -> None:
        """Tell the authority the new contact; an order need not fail because it refuses that."""
        update = messages.Registration.from_data(email=self._contact or None, contact=())
        try:
            client.update_registration(_resource(uri), update)
        except messages.Error as error:
            if error.code == "accountDoesNotExist":
                raise
            log.warning("the authority keeps the former contact, not %s: %s", self._contact, error)
        else:
            self._write({"uri": uri, "contact": self._contact})

    def _read(self) -> _StoredAccount | None:
        try:
            account = json.loads(self._registration.read_text())
            return {"uri": str(account["uri"]), "contact": str(account["contact"])}
        except (OSError, ValueError, TypeError, LookupError):
            return None  # none yet, or damaged: the authority knows the key

    def _write(self, account: _StoredAccount) -> None:
        replace_private(self._registration, json.dumps(account))


def _resource(uri: str) -> messages.RegistrationResource:
    return messages.RegistrationResource(uri=uri, body=messages.Registration())
