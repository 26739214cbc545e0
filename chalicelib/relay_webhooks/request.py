"""Read the bodies of POST and PUT /relay-webhooks into a relay webhook and its credentials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from chalicelib.core.domain_names import normalize
from chalicelib.core.errors import ApiError, ApiErrors, bad_request
from chalicelib.relay_webhooks.model import AUTH_TYPES, SMTP, RelayWebhook
from chalicelib.webhooks import custom_headers
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.endpoint_request import EndpointReader

#: Most bytes of names and values of the custom headers
MOST_HEADER_BYTES: Final = custom_headers.MOST_BYTES
_LONGEST_DOMAIN = 253
#: Null removes these fields; any other that is null counts as absent
_REMOVABLE = frozenset(("auth_token", "custom_headers"))
_FIELDS = _REMOVABLE | {"name", "target", "auth_type", "auth_request_details", "match"}


@dataclass(frozen=True, slots=True)
class Draft:
    """A relay webhook whose credentials are not sealed yet."""

    webhook: RelayWebhook
    credentials: Credentials


def read_new(body: Any, blank: RelayWebhook) -> Draft:
    """Return ``blank`` with the fields of ``body``; raises 400 or 422."""
    return _read(_Reader(body, new=True), Draft(blank, Credentials()))


def read_changes(body: Any, before: Draft) -> Draft:
    """Return a relay webhook with the changes in ``body``; raises 400 or 422."""
    if not isinstance(body, Mapping) or not any(_is_usable(*each) for each in body.items()):
        raise nothing_to_change()
    return _read(_Reader(body, new=False), before)


def nothing_to_change() -> ApiError:
    """Return the refusal of a body that changes nothing."""
    return bad_request("no valid fields in body")


def _is_usable(name: str, value: Any) -> bool:
    return name in _FIELDS and (value is not None or name in _REMOVABLE)


def _read(reader: _Reader, before: Draft) -> Draft:
    fields = reader.endpoint_fields(name_required=False)
    webhook = replace(before.webhook, **fields, domain=reader.domain(before.webhook.domain))
    credentials = reader.credentials(webhook.auth_type, before.credentials)
    reader.params.check()
    return Draft(webhook, credentials)


class _Reader(EndpointReader):
    auth_types: ClassVar[Collection[str]] = AUTH_TYPES
    header_bytes: ClassVar[int] = MOST_HEADER_BYTES + 1

    def domain(self, before: str) -> str:
        """Return the domain of ``match`` in its canonical spelling."""
        match = self.body.get("match")
        if match is None or not isinstance(match, Mapping):
            text = "must be an object" if match is not None else "is a required field"
            if self.new or match is not None:
                self.params.refuse("match", f"match {text}", match)
            return before
        if match.get("protocol", SMTP) not in (SMTP, None):
            text = f"match.protocol must be {SMTP}"
            self.params.refuse("match.protocol", text, match["protocol"])
        return self._domain_name(match.get("domain"), before)

    def _domain_name(self, name: Any, before: str) -> str:
        if name is None:
            if self.new:
                self.params.refuse("match.domain", "match.domain is a required field", None)
            return before
        if not isinstance(name, str) or len(name) > _LONGEST_DOMAIN:
            text = f"match.domain must be a string of at most {_LONGEST_DOMAIN} characters"
            self.params.refuse("match.domain", text, name)
            return before
        # A name that is none is that of no inbound domain, which the answer then says
        return normalize(name) or name

    def refuse_headers(self, text: str, value: Any) -> None:
        """Refuse ``custom_headers`` with 422, as the vendor does."""
        raise ApiErrors(422, [{"param": "custom_headers", "message": text, "value": value}])
