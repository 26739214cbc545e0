from __future__ import annotations

from chalicelib.core.typed_dicts import TypedDict


class Place(TypedDict, total=False):
    """A place."""

    name: str


def test_a_typed_dictionary_is_a_plain_one() -> None:
    assert Place() == {}
    assert Place(name="here") == {"name": "here"}
    assert type(Place({"name": "here"})) is dict
