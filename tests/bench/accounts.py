"""Count the AWS requests of authentication and of a page of subaccounts on a local cloud."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.api_keys import model as keys
from chalicelib.authentication.service import authenticate
from chalicelib.core import config_cache
from chalicelib.core.request import Request
from chalicelib.subaccounts import store
from chalicelib.subaccounts.model import Subaccount
from infrastructure.bootstrap import ACCOUNT_ID, first_start
from tests.bench.local_cloud import Requests, counted, local_cloud

KEY = keys.draw_key()
FEW, MANY = 30, 2_000
PAGE = "/api/v1/subaccounts"


def main() -> None:
    """Measure and print the figures."""
    with local_cloud():
        first_start(KEY)
        _authentication()
        _create(1, FEW)
        few = _page()
        _create(FEW + 1, MANY)
        many = _page()
        same = len(few.operations) == len(many.operations)
        print(
            f"subaccounts, a page of 25: {len(few.operations)} requests with {FEW}, "
            f"{len(many.operations)} with {MANY} [{'holds' if same else 'FAILS'}: the same]"
        )


def _authentication() -> None:
    authenticate(_request("/api/v1/account"))  # notes the hour of the use, once
    config_cache.clear_cache()
    for text, most in (("not seen before", 1), ("seen lately", 0)):
        with counted() as requests:
            authenticate(_request("/api/v1/account"))
        verdict = "holds" if len(requests.operations) <= most else "FAILS"
        print(f"a key {text}: {len(requests.operations)} requests [{verdict}: at most {most}]")


def _create(first: int, last: int) -> None:
    model = Subaccount(0, ACCOUNT_ID, "", 0.0, 0.0)
    for number in range(first, last + 1):
        created_s = 1_700_000_000.0 + number
        name = f"Subaccount {number}"
        store.create(replace(model, id=number, name=name, created=created_s, updated=created_s))


def _page() -> Requests:
    from chalicelib.subaccounts.routes import list_subaccounts

    request = _request(PAGE)
    request.authenticated = authenticate(request)
    with counted() as requests:
        response = list_subaccounts(request)
    assert len(response.body["results"]) == 25
    return requests


def _request(path: str) -> Request:
    query = {"per_page": "25", "cursor": "initial"} if path == PAGE else {}
    return Request(path=path, query=query, headers={"authorization": KEY})


if __name__ == "__main__":
    main()
