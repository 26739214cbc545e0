"""Show and change the records of the local DNS over HTTP, under ``/local/dns``.

- ``GET /local/dns`` lists what the local DNS answers, by name
- ``GET /local/dns/{name}`` shows what it answers about one name
- ``PUT /local/dns/{name}`` replaces what it answers about the name, by a body such as
  ``{"records": [{"type": "MX", "value": "10 mail.example.com"}]}``
- ``DELETE /local/dns/{name}`` deletes the records that were put there

``origin`` says where an answer comes from: ``user`` (by PUT) or ``service`` (its own ``.test``
domains). No key is needed: the endpoint exists only in the local runtime.
"""

from __future__ import annotations

from typing import Any

from infrastructure.local.dns.answers import Answer, LocalAnswers, Source
from infrastructure.local.dns.record_syntax import BadRecord, read_name, read_records
from infrastructure.local.dns.zone import LocalZone
from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    results,
)

PREFIX = "/local/dns"
# The records of one name fit into one answer by TCP.
MAX_BODY_BYTES = 32 * 1024


class DnsEndpoint:
    """The operations of ``/local/dns`` over the user's zone and the service's records."""

    def __init__(self, zone: LocalZone, service: Source) -> None:
        self._zone = zone
        self._answers = LocalAnswers(zone, service)

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [
            LocalRoute("GET", PREFIX, self.list_records),
            LocalRoute("GET", f"{PREFIX}/{{name}}", self.show_records),
            LocalRoute("PUT", f"{PREFIX}/{{name}}", self.put_records, MAX_BODY_BYTES),
            LocalRoute("DELETE", f"{PREFIX}/{{name}}", self.delete_records),
        ]

    def list_records(self, request: LocalRequest) -> LocalReply:
        """List what the local DNS answers, by name."""
        return results([_view(answer) for answer in self._answers.all()])

    def show_records(self, request: LocalRequest) -> LocalReply:
        """Show what the local DNS answers about one name."""
        answer = self._answers.get(_name(request))
        if answer is None:
            raise LocalError(404, f"{request.parameters['name']} does not exist in the local DNS")
        return results(_view(answer))

    def put_records(self, request: LocalRequest) -> LocalReply:
        """Replace what the local DNS answers about one name."""
        try:
            answer = Answer(_name(request), read_records(request.json()), True)
        except BadRecord as error:
            raise LocalError(400, str(error)) from None
        self._zone.put(answer.name, answer.records)
        return results(_view(answer))

    def delete_records(self, request: LocalRequest) -> LocalReply:
        """Delete the records that were put at one name."""
        name = _name(request)
        if not self._zone.delete(name):
            raise LocalError(404, f"no records were put at {request.parameters['name']}")
        return results({"name": name})


def _name(request: LocalRequest) -> str:
    try:
        return read_name(request.parameters["name"])
    except BadRecord as error:
        raise LocalError(400, str(error)) from None


def _view(answer: Answer) -> dict[str, Any]:
    return {
        "name": answer.name,
        "origin": "user" if answer.by_user else "service",
        "records": [{"type": rtype, "value": value} for rtype, value in answer.records],
    }
