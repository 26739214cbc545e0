from __future__ import annotations

import base64
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core import clock, ids
from chalicelib.tracking import tokens
from chalicelib.tracking.model import AMP_OPEN, CLICK, LIST_UNSUBSCRIBE, OPEN, Link, Message
from chalicelib.tracking.token_forms import unpack_link
from chalicelib.tracking.tokens import BadToken, Expired, LinkPart, MessageTokens
from tests.unit.tracking.examples import NINE, TRANSMISSION, message

DAY = 86_400
CHARACTERS = string.ascii_letters + string.digits + "-_."

texts = st.text(max_size=40)
names = texts.filter(lambda name: len(name.encode("utf-8", "surrogatepass")) <= 63)


@settings(max_examples=60)
@given(
    account=st.integers(1, 2**31 - 1),
    subaccount=st.none() | st.integers(1, 2**31 - 1),
    first=st.integers(0, 10**7),
    place=st.integers(0, 10**4),
    recipient=texts,
    link=st.builds(Link, texts, names, st.booleans(), st.booleans(), texts),
)
def test_a_token_contains_its_message_and_link(
    account: int, subaccount: int | None, first: int, place: int, recipient: str, link: Link
) -> None:
    message_id = ids.message_id(TRANSMISSION, first + place)
    about = Message(account, subaccount, message_id, first, recipient, tokens.last_day(NINE))
    issuer = MessageTokens(about)
    assert tokens.read(link.kind, issuer.token_of(LinkPart(link))) == (about, link)
    assert tokens.read(OPEN, issuer.token(OPEN)) == (about, None)


@settings(max_examples=200)
@given(data=st.data())
def test_an_altered_token_is_refused(data: st.DataObject) -> None:
    token = MessageTokens(message()).token_of(LinkPart(Link("https://example.com/")))
    position = data.draw(st.integers(0, len(token) - 1))
    character = data.draw(
        st.sampled_from(CHARACTERS + "é\0 ").filter(lambda c: c != token[position])
    )
    with pytest.raises(BadToken):
        tokens.read(CLICK, token[:position] + character + token[position + 1 :])


@given(token=st.text() | st.text(alphabet=CHARACTERS))
@settings(max_examples=100)
def test_an_unsigned_text_is_refused(token: str) -> None:
    for kind in (OPEN, CLICK, LIST_UNSUBSCRIBE, "f/\ud800"):
        with pytest.raises(BadToken):
            tokens.read(kind, token)


def test_the_unsigned_form_of_a_token_is_refused() -> None:
    forged = base64.urlsafe_b64encode(b"\x01" + bytes(16) + b"me@example.test").decode().rstrip("=")
    for token in (forged, f"{forged}.", f"{forged}..", f"{forged}...", f"..{'A' * 16}"):
        with pytest.raises(BadToken):
            tokens.read(OPEN, token)


def test_a_token_is_valid_only_at_its_own_endpoint() -> None:
    issuer = MessageTokens(message())
    link = issuer.token_of(LinkPart(Link("https://example.com/")))
    tokens_by_kind = {kind: issuer.token(kind) for kind in (OPEN, AMP_OPEN, "t/u")}
    for kind, token in [*tokens_by_kind.items(), (CLICK, link)]:
        for other in {OPEN, AMP_OPEN, "t/u", CLICK, "f/x"} - {kind}:
            with pytest.raises(BadToken):
                tokens.read(other, token)


def test_a_link_of_one_message_cannot_be_put_into_another() -> None:
    link = LinkPart(Link("https://example.com/"))
    one, other = MessageTokens(message(1)), MessageTokens(message(2))
    with pytest.raises(BadToken):
        tokens.read(CLICK, one.token_of(link).replace(one.text, other.text))


def test_a_link_cannot_be_put_in_place_of_another() -> None:
    issuer = MessageTokens(message())
    good, evil = LinkPart(Link("https://example.com/")), LinkPart(Link("https://evil.example/"))
    with pytest.raises(BadToken):
        tokens.read(CLICK, issuer.token_of(good).replace(good.text, evil.text))


def test_the_path_of_a_sublink_is_signed() -> None:
    token = MessageTokens(message()).token_of(LinkPart(Link("https://example.com/", sub="ios")))
    assert tokens.read("f/ios", token)[1] == Link("https://example.com/", sub="ios")
    with pytest.raises(BadToken):
        tokens.read("f/android", token)


def test_text_cannot_move_from_the_path_to_the_link_part() -> None:
    issuer = MessageTokens(message())
    part = LinkPart(Link("https://example.com/", sub="ab"))
    tag = issuer.tag(part)
    for kind, link in (
        ("f/a", f"b{part.text}"),
        ("f/", f"ab{part.text}"),
        ("f/abA", part.text[1:]),
    ):
        with pytest.raises(BadToken):
            tokens.read(kind, f"{issuer.text}.{link}.{tag}")


def test_a_token_works_for_a_year() -> None:
    token = MessageTokens(message()).token(OPEN)
    injected_s = NINE / 1000
    with clock.use(lambda: injected_s + 365 * DAY):
        tokens.read(OPEN, token)
    with clock.use(lambda: injected_s + 366 * DAY), pytest.raises(Expired):
        tokens.read(OPEN, token)


def test_an_expired_token_is_still_genuine() -> None:
    token = MessageTokens(message()).token(OPEN)
    with clock.use(lambda: NINE / 1000 + 400 * DAY):
        assert tokens.is_genuine(OPEN, token)
    assert not tokens.is_genuine(OPEN, token[:-1])


def test_a_token_ends_with_letters_and_digits_which_no_mail_program_leaves_out_of_a_link() -> None:
    link = LinkPart(Link("https://example.com/"))
    for index in range(300):
        issuer = MessageTokens(message(index))
        (tag,) = issuer.tags([link.signed])
        assert tag == issuer.tag(link)
        for token in (issuer.token_of(link), issuer.token(LIST_UNSUBSCRIBE)):
            assert re.fullmatch(r"[A-Za-z0-9]{16}", token.rpartition(".")[2])


def test_tokens_of_mail_from_version_0_1_0_may_end_with_a_hyphen_or_underscore() -> None:
    start = "AQKp31FvvaABAAAA"
    click = f"{start}GlFxGgEAQW5uQGV4YW1wbGUudGVzdA.DAdjgEkgCwIAYQ.egNlUGM8XGkWYF8_"
    unsubscription = f"{start}D1FxDwEAQW5uQGV4YW1wbGUudGVzdA..PYrUO74F_m-brmH-"
    assert tokens.read(CLICK, click) == (message(26), Link("https://example.com/a"))
    assert tokens.read(LIST_UNSUBSCRIBE, unsubscription) == (message(15), None)
    assert tokens.is_genuine(CLICK, click)
    for shortened in (click[:-1], unsubscription[:-1]):
        with pytest.raises(BadToken):
            tokens.read(CLICK, shortened)


def test_the_url_of_an_ordinary_link_is_short() -> None:
    query = "utm_source=newsletter&utm_medium=email&utm_campaign=spring-2026&id=4711"
    link = Link(f"https://www.example.com/products/garden-chairs?{query}", "chairs in the header")
    assert len(MessageTokens(message()).token_of(LinkPart(link))) < 220


def test_the_url_of_a_thousand_bytes_stays_under_two_thousand() -> None:
    link = Link("https://example.com/" + "".join(f"{i * 7919:x}" for i in range(200))[:980])
    assert len(MessageTokens(message()).token_of(LinkPart(link))) < 1600


@pytest.mark.parametrize("target", ["https://a.example/b?c=d", "https://a.example/" + "long/" * 40])
def test_links_of_earlier_mail_have_a_target_in_one_piece(target: str) -> None:
    body = b"\x03Ann" + target.encode()
    assert unpack_link(b"\x01" + body, "t/c") == Link(target, "Ann", unsubscribes=True)
