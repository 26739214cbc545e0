from __future__ import annotations

from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import packing
from chalicelib.transmissions.model import Transmission, unpack
from tests.unit.transmissions.examples import make_transmission

DATA = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(DATA, DATA, st.binary(max_size=100), st.none() | st.integers(1, 99))
def test_unpacking_returns_the_packed_transmission(
    metadata: dict[str, object], data: dict[str, object], raw: bytes, subaccount: int | None
) -> None:
    transmission = make_transmission(
        metadata=metadata, substitution_data=data, raw=raw, subaccount_id=subaccount
    )
    assert unpack(transmission.pack()) == transmission


def test_no_field_is_lost_in_packing() -> None:
    strange = {
        each.name: {"x": each.name} if each.type == "Json" else each.name
        for each in fields(Transmission)
    }
    transmission = Transmission(**(strange | {"raw": b"\x00\xff"}))  # type: ignore[arg-type]
    assert unpack(transmission.pack()) == transmission


def test_leases_are_packed_under_the_name_that_earlier_releases_read() -> None:
    transmission = make_transmission(leases={"list": "friends"})
    head, bodies = packing.unpack(transmission.pack())
    assert head["uses"] == {"list": "friends"}
    assert "leases" not in head
    del head["uses"]
    assert unpack(packing.pack(head, bodies)).leases == {}


def test_a_finished_message_is_packed_without_growing() -> None:
    raw = bytes(range(256)) * 100
    assert len(make_transmission(raw=raw, content={}).pack()) < len(raw) + 1000
