"""Serve ``/subaccounts`` (spec 4.5), which belong to the whole account in any scope."""

from __future__ import annotations

from chalicelib.core.errors import NotFound
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.core.params import Params
from chalicelib.subaccounts import search, store
from chalicelib.subaccounts.model import is_id
from chalicelib.subaccounts.request import read_change, read_new
from chalicelib.subaccounts.service import change, create
from chalicelib.subaccounts.view import subaccount_view

routes = Routes(__name__)


@routes.get("/api/v1/subaccounts", grant="subaccount/view")
def list_subaccounts(request: Request) -> Reply:
    """Return the account's subaccounts, in pages if the query asks for them."""
    account_id, query = request.caller.account_id, request.query
    if not search.is_paginated(query):
        return ok([subaccount_view(each) for each in search.everything(account_id, query)])
    page = search.run(search.read_query(account_id, query), query)
    links = {"next": page.next_link} if page.next_link else {}
    views = [subaccount_view(each) for each in page.subaccounts]
    return ok(views, total_count=page.total, links=links)


@routes.get("/api/v1/subaccounts/summary", grant="subaccount/view")
def summarize_subaccounts(request: Request) -> Reply:
    """Return how many subaccounts there are."""
    return ok({"total": store.count(request.caller.account_id)})


@routes.post("/api/v1/subaccounts", grant="subaccount/manage")
def create_subaccount(request: Request) -> Reply:
    """Create a subaccount and, unless the body says otherwise, a key of its own.

    The key gets no grants that the caller does not hold, as for ``/api-keys``.
    """
    caller = request.caller
    return ok(create(caller, read_new(caller.account_id, request.json())))


@routes.get("/api/v1/subaccounts/{subaccount_id}", grant="subaccount/view")
def show_subaccount(request: Request, subaccount_id: str) -> Reply:
    """Return one subaccount, without its resources."""
    subaccount = store.get(request.caller.account_id, _number(subaccount_id))
    if subaccount is None:
        raise NotFound
    return ok(subaccount_view(subaccount))


@routes.put("/api/v1/subaccounts/{subaccount_id}", grant="subaccount/manage")
def change_subaccount(request: Request, subaccount_id: str) -> Reply:
    """Change those of name, status, pool and options that the body has."""
    account_id = request.caller.account_id
    changes = read_change(account_id, request.json())
    if not change(account_id, _number(subaccount_id), changes):
        raise NotFound
    return ok({"message": "Successfully updated subaccount information"})


def _number(text: str) -> int:
    if not is_id(text):
        params = Params({})
        params.refuse("id", "id must be a number", text)
        params.check()
    return int(text)
