from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.passwords import Passwords

# Of the word "secret": by htpasswd -nbB, -nbm, -nbs, and by openssl passwd -5 and -6
HASHES = {
    "bcrypt": "$2y$04$Dr32qVxLW7SzW4SKN4fST.zju3F3m8qR5YJF.SfAjebcb6IiYPl2y",
    "md5": "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/",
    "sha1": "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
    "sha256": "$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.",
    "sha512": "$6$abcdefgh$"
    "ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG.",
    "plain": "secret",
}


@pytest.fixture
def passwords(tmp_path: Path) -> Passwords:
    path = tmp_path / "passwords"
    path.write_text("# logins\n\n" + "".join(f"{n}:{h}\n" for n, h in HASHES.items()))
    return Passwords.read(path)


@pytest.mark.parametrize("name", HASHES)
def test_each_kind_of_hash_lets_the_right_password_in(name: str, passwords: Passwords) -> None:
    assert passwords.is_right(name, "secret")
    assert not passwords.is_right(name, "Secret")
    assert not passwords.is_right(name, "")
    assert not passwords.is_right(name, "secret\0")
    assert not passwords.is_right(name, HASHES["bcrypt"])


def test_an_unknown_name_is_not_let_in(passwords: Passwords) -> None:
    assert not passwords.is_right("nobody", "secret")
    assert not passwords.is_right("", "")


def test_a_password_may_hold_a_colon_and_any_letters(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("jürgen:pass:wört\r\n", encoding="utf-8")
    assert Passwords.read(path).is_right("jürgen", "pass:wört")


def test_a_password_that_is_longer_than_bcrypt_reads_is_cut(passwords: Passwords) -> None:
    assert not passwords.is_right("bcrypt", "secret" * 20)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ann\n", "line 1: neither"),
        (":secret\n", "line 1: neither"),
        ("# one\nann:$9$abc\n", "line 2: a kind of hash"),
        ("ann:$2y$bad\n", "line 1: a kind of hash"),
        ("\n", "no name"),
        (b"ann:\xff", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_told_in_one_line(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    path = tmp_path / "passwords"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ValueError, match=message):
        Passwords.read(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere: No such file"):
        Passwords.read(tmp_path / "nowhere")
