from __future__ import annotations

from chalicelib.api_keys import model


def test_a_drawn_key_has_160_random_bits() -> None:
    keys = {model.draw_key() for _ in range(50)}
    assert len(keys) == 50
    assert all(len(key) == 40 and int(key, 16) >= 0 for key in keys)


def test_the_id_of_a_key_is_its_sha256() -> None:
    assert model.key_id("abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_a_short_key_is_the_first_four_characters() -> None:
    assert model.short_key("0123456789") == "0123"
