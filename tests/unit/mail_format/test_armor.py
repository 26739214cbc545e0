from __future__ import annotations

import pytest

from chalicelib.mail_format.armor import blocks
from tests.unit.linear_time import assert_linear

SIGNED = """\
-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA256

See https://example.test/advisory/1
- -----END PGP SIGNATURE-----
-----BEGIN PGP SIGNATURE-----

iHUEARYIAB0=
-----END PGP SIGNATURE-----"""


def blocks_of(text: str) -> list[str]:
    return [text[block.start : block.end] for block in blocks(text)]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", " \t\n"])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("Hello\n\n", "\nBye"), ("\n", "\n")])
def test_a_signed_text_ends_with_its_signature(before: str, after: str, line_end: str) -> None:
    signed = SIGNED.replace("\n", line_end)
    (block,) = blocks(before + signed + after)
    assert (block.start, block.end) == (len(before), len(before + signed))
    assert block.is_signed_text


@pytest.mark.parametrize(
    "label", ["PGP MESSAGE", "PGP PUBLIC KEY BLOCK", "PGP SIGNATURE", "PKCS7", "SSH SIGNATURE"]
)
def test_other_blocks_end_with_their_own_label(label: str) -> None:
    armor = f"-----BEGIN {label}-----\nComment: https://a.test/\n\nxyz=\n-----END {label}-----"
    text = f"{armor}\n\nHi\n-----END {label}-----\n{armor}"
    assert blocks_of(text) == [armor, armor]
    assert not blocks(armor)[0].is_signed_text


@pytest.mark.parametrize(
    "text",
    [
        SIGNED.rpartition("\n")[0],
        SIGNED.replace("SIGNED MESSAGE", "SIGNED"),
        f"> {SIGNED}",
        f"see {SIGNED}",
        "-----END PGP SIGNATURE-----\n-----BEGIN PGP SIGNED MESSAGE-----",
        "-----BEGIN PGP MESSAGE-----\n-----END PGP MESSAGE",
        "no block: -----BEGIN ",
        "",
    ],
)
def test_a_text_without_first_and_last_line_is_no_signed_text(text: str) -> None:
    assert not any(block.is_signed_text or block.start == 0 for block in blocks(text))


def test_blocks_within_a_block_belong_to_it() -> None:
    message = "-----BEGIN A-----\n" + SIGNED + "\n-----END A-----"
    assert blocks_of(f"{message}\n{SIGNED}\n{SIGNED}") == [message, SIGNED, SIGNED]


def test_hostile_texts_take_linear_time() -> None:
    for unit in (
        "-----BEGIN PGP SIGNED MESSAGE-----\n",
        "-----BEGIN A-----\n-----END B-----\n",
        "-",
    ):
        assert_linear(blocks, unit * (200_000 // len(unit)))
    assert_linear(blocks, "\n".join(f"-----BEGIN {number}-----" for number in range(10_000)))
    assert_linear(blocks, "-----BEGIN " + " " * 100_000)
    assert_linear(blocks, "-----BEGIN A-----" + " " * 100_000 + "x")
