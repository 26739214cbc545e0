from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

import pytest

from chalicelib.ab_tests.model import AbTest, Counts
from chalicelib.ab_tests.store.counts import TemplateCountsItem
from chalicelib.ab_tests.store.versions import AbTestItem
from chalicelib.accounts.model import Account
from chalicelib.accounts.store.accounts import AccountItem
from chalicelib.accounts.store.usage_items import Share, UsageItem, UsageShareItem
from chalicelib.accounts.usage_window import UsageWindow
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.inbound_domains.store import InboundDomainItem
from chalicelib.relay_webhooks.model import RelayWebhook
from chalicelib.relay_webhooks.store import RelayWebhookItem
from chalicelib.sending_domains.model import MailedToken, SendingDomain
from chalicelib.sending_domains.store import SendingDomainItem, TokenFields
from chalicelib.subaccounts.model import Subaccount
from chalicelib.subaccounts.store import SubaccountItem
from chalicelib.templates.model import Template, TemplateVersion
from chalicelib.templates.store.records import TemplateItem, VersionFields
from chalicelib.tracking_domains.model import TrackingDomain
from chalicelib.tracking_domains.store import TrackingDomainItem
from chalicelib.webhooks.circuit_breaker import CircuitBreaker
from chalicelib.webhooks.model import Webhook, WebhookBatch
from chalicelib.webhooks.store.batches import WebhookBatchItem
from chalicelib.webhooks.store.circuit_breakers import CircuitBreakerItem
from chalicelib.webhooks.store.webhooks import WebhookItem
from infrastructure import stored_items
from infrastructure.stored_items import UndeclaredItems

CODE = Path(__file__).parents[3] / "chalicelib"

STORE = '''
class FormerOwner(Attributes):
    """An owner that it had."""

    account_id: int


class Fields(Keyed):
    name: str


class ThingItem(Fields):
    """A thing (``Thing``).

    It is kept for ever.
    """

    former: NotRequired[list[FormerOwner] | None]


_things: Table[ThingItem] = Table("config")
'''

#: Items that a store writes or reads by the names of a record's fields
RECORDS: list[tuple[Any, Any]] = [
    (AbTestItem, AbTest),
    (AccountItem, Account),
    (CircuitBreakerItem, CircuitBreaker),
    (RelayWebhookItem, RelayWebhook),
    (InboundDomainItem, InboundDomain),
    (SendingDomainItem, SendingDomain),
    (SubaccountItem, Subaccount),
    (TemplateCountsItem, Counts),
    (TemplateItem, Template),
    (TokenFields, MailedToken),
    (TrackingDomainItem, TrackingDomain),
    (UsageItem, UsageWindow),
    (UsageShareItem, Share),
    (VersionFields, TemplateVersion),
    (WebhookBatchItem, WebhookBatch),
    (WebhookItem, Webhook),
]
#: The attributes that fields have where the names differ
ATTRIBUTES = {
    (AbTest, "revision"): "stamp",
    (CircuitBreaker, "open_until_ms"): "paused_until_ms",
    (CircuitBreaker, "timeouts"): "unanswered",
    (Subaccount, "revision"): "version",
    (Webhook, "revision"): "version",
}
#: Types that are the same in a record and in its item
PLAIN = (bool, int, float, str, bytes, int | None, float | None, str | None)
#: A value that a record does not have is left out of its item
LEFT_OUT = {(Template, "last_use"): float}

#: A name in an expression, if it is written out
NAME = re.compile(r"(?:^|[\s(,])#([a-z]\w*)(?![\w\0])")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored_items, "ROOT", tmp_path)
    path = tmp_path / "chalicelib" / "things" / "store.py"
    path.parent.mkdir(parents=True)
    return path


def type_in(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is NotRequired else hint


def stores() -> dict[str, ast.Module]:
    """Return the modules of the code by their paths."""
    return {
        path.relative_to(CODE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in CODE.rglob("*.py")
    }


def texts(module: ast.Module) -> Iterator[str]:
    """Yield the literals of a module, with a null character for each value in them."""
    parts: set[ast.expr] = set()
    for node in ast.walk(module):
        match node:
            case ast.JoinedStr(values):
                parts.update(values)
                yield "".join(map(text_of, values))
            case ast.Constant(str(text)) if node not in parts:
                yield text


def text_of(part: ast.expr) -> str:
    return part.value if isinstance(part, ast.Constant) else "\0"


def test_the_classes_of_items_become_rows_of_a_table(store: Path) -> None:
    store.write_text(STORE)
    assert [item.row() for item in stored_items.stored_items()] == [
        "| `config` | `ThingItem`: A thing (`Thing`). "
        "| `name`: str, `former?`: list[FormerOwner] \\| None | `things/store.py` |",
        "| `config` | `FormerOwner`: An owner that it had. "
        "| `account_id`: int | `things/store.py` |",
    ]


def test_a_base_may_be_in_another_module(store: Path) -> None:
    store.write_text("class ThingItem(Owned):\n    n: int\n\nt: Table[ThingItem] = Table('config')")
    store.with_name("keys.py").write_text("class Owned(Keyed):\n    owner: str")
    (item,) = stored_items.stored_items()
    assert item.attributes == ("`owner`: str", "`n`: int")


@pytest.mark.parametrize(
    "table",
    [
        "t = Table('config')",
        "t: Table[ThingItem] = Table('config')",
        "t: Table[dict[str, Any]] = Table('config')",
        "class ThingItem(NamedTuple):\n    pk: str\n\nt: Table[ThingItem] = Table('config')",
        "def read():\n    return Table('config').get('a', 'b')",
    ],
)
def test_a_table_without_a_class_of_items_is_an_error(store: Path, table: str) -> None:
    store.write_text(table)
    with pytest.raises(UndeclaredItems, match=r"things/store\.py"):
        stored_items.stored_items()


def test_every_table_of_a_store_says_which_items_it_has() -> None:
    tables = {(item.table, item.name) for item in stored_items.stored_items()}
    assert len(tables) > 70
    assert {table for table, _ in tables} == {
        "audit",
        "config",
        "events",
        "messages",
        "metrics",
        "suppression",
        "transmissions",
        "webhooks",
    }


def test_every_item_says_what_it_is() -> None:
    items = stored_items.stored_items()
    assert [item.name for item in items if not item.summary.endswith(".")] == []


def test_only_the_toolkit_and_readers_of_several_kinds_have_items_of_any_kind() -> None:
    modules = stores()
    assert {
        store
        for store, module in modules.items()
        for _, kind in stored_items.tables_of(store, module)
        if kind == stored_items.ANY
    } == {
        "core/config_cache.py",
        "core/leases.py",
        "core/owned_records.py",
        "core/reading.py",
        "webhook_dispatch/store.py",
    }
    assert {
        store
        for store, module in modules.items()
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and node.id == "Item"
        if not store.startswith("core/dynamo/")
    } == set()


def test_expressions_name_attributes_that_items_of_their_package_have() -> None:
    items, names = stored_items.stored_items(), set[tuple[str, str]]()
    for store, module in stores().items():
        if "store" in store and not store.startswith("core/"):
            package = store.partition("/")[0]
            names |= {(package, name) for text in texts(module) for name in NAME.findall(text)}
    attributes = {
        (item.store.partition("/")[0], re.split(r"\W", text)[1])
        for item in items
        for text in item.attributes
    }
    assert len(names) > 100
    # The lines of the audit log are items of the core, which another package reads
    attributes |= {("audit_log", name) for package, name in attributes if package == "core"}
    assert {each for each in names if each[1] not in ("pk", "sk")} - attributes == set()


@pytest.mark.parametrize(("item", "record"), RECORDS)
def test_an_item_has_the_fields_of_its_record(item: Any, record: Any) -> None:
    types, attributes = get_type_hints(record), get_type_hints(item, include_extras=True)
    for each in fields(record):
        attribute = ATTRIBUTES.get((record, each.name), each.name)
        assert attribute in attributes
        if types[each.name] in PLAIN:
            expected = LEFT_OUT.get((record, each.name), types[each.name])
            assert type_in(attributes[attribute]) == expected, each.name
