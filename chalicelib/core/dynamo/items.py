"""Declare what stored items hold, for the type checker and the reader.

A store declares each kind of its items as a class with the base :class:`Keyed`, and what one of
their attributes holds as a class with the base ``Attributes``. These are ``TypedDict`` classes
(``core.typed_dicts``); the items stay plain dictionaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from chalicelib.core.typed_dicts import TypedDict as Attributes

__all__ = ["AnyItem", "Attributes", "Item", "ItemT", "Key", "Keyed"]

#: An item of any kind, where code is the same for all kinds
Item = dict[str, Any]
#: An item that is read together with others: its kind follows from its key
AnyItem = Any
ItemT = TypeVar("ItemT", bound=Mapping[str, Any])
#: ``pk`` and ``sk`` of an item
Key = tuple[str, str]


class Keyed(Attributes):
    """The key of an item. A store declares each kind of its items as a class with this base.

    An attribute ``expires`` is when DynamoDB may remove the item, in seconds since the epoch.
    """

    pk: str
    sk: str
