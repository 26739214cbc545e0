"""Make the domains that a tested program sends from usable at a local service."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from postfinch.http_api import Api, ApiError
from postfinch.local_service import LocalService


def provide(service: LocalService, names: Iterable[str]) -> None:
    """Register domains for all accounts, publish their keys in the local DNS, and verify them."""
    api = Api(service.api_url, service.api_key)
    for name in names:
        path = f"/sending-domains/{quote(name, safe='')}"
        try:
            body = {"domain": name, "shared_with_subaccounts": True, "dkim_key_length": 2048}
            api.post("/sending-domains", body)
        except ApiError as error:
            if error.status != 409:  # another process of the run was faster
                raise
        for record in api.get(f"{path}/dns-records"):
            if record["purpose"] == "dkim":
                records = [{"type": record["type"], "value": record["value"]}]
                api.put(f"/local/dns/{record['name']}", {"records": records})
        api.post(f"{path}/verify", {"dkim_verify": True})
