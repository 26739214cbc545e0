"""Read replies without what they quote, in the languages of mail programs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.received_mail import parsing, reply_text
from tests.unit.received_mail.examples import mail, octets_of


def reply(text: str) -> str:
    return reply_text.of(parsing.read(b"Content-Type: text/plain\r\n\r\n" + text.encode()))


@pytest.mark.parametrize(
    "quotation",
    [
        "On Mon, Jan 5, 2026 at 10:00 AM Ann <ann@x.test> wrote:\n> Hello\n> Ann",
        "On Mon, Jan 5, 2026 at 10:00 AM Ann <ann@x.test>\nwrote:\n\n> Hello",
        "Am Mo., 5. Jan. 2026 um 10:00 Uhr schrieb Ann <ann@x.test>:\n> Hallo",
        "Le lun. 5 janv. 2026 à 10:00, Ann <ann@x.test> a écrit :\n> Bonjour",
        "El lun, 5 ene 2026 a las 10:00, Ann (<ann@x.test>)  escribió:\n> Hola",
        "Il giorno lun 5 gen 2026 Ann <ann@x.test> ha scritto:\n> Ciao",
        "Op ma 5 jan 2026 om 10:00 schreef Ann <ann@x.test>:\n> Hallo",
        "Den mån 5 jan. 2026 kl 10:00 skrev Ann <ann@x.test>:\n> Hej",
        "2026年1月5日(月) 10:00 Ann <ann@x.test>:\n> こんにちは",
        "-----Original Message-----\nFrom: Ann\nSent: Monday\nTo: Bob\nSubject: Hi\n\nHello",
        "________________________________\nFrom: Ann\nSent: Monday\nTo: Bob\nSubject: Hi\n\nHello",
        "Von: Ann\nGesendet: Montag\nAn: Bob\nBetreff: Hi\n\nHallo",
        "> quoted without a word",
        "-- \nBob\nTickets Inc.",
        "Sent from my iPhone",
        "Best regards,\nBob\n\nOn 5 Jan 2026, at 10:00, Ann <ann@x.test> wrote:\n> Hello",
    ],
)
def test_a_reply_ends_where_a_quotation_or_a_signature_begins(quotation: str) -> None:
    own = "Yes, that is fine.\n\n- first\n- second\n\nTake care of " + "it, " * 80 + "please."
    assert reply(f"{own}\n\n{quotation}\n") == own


def test_an_answer_below_the_quotation_is_the_reply() -> None:
    text = "On Mon, Ann <ann@x.test> wrote:\n> Do you agree?\n\nYes, I do.\n"
    assert reply(text) == "Yes, I do."


def test_answers_between_quotations_keep_them() -> None:
    text = "> First?\n\nYes.\n\n> Second?\n\nNo.\n\n> Third?\n"
    assert reply(text) == "> First?\n\nYes.\n\n> Second?\n\nNo."


def test_a_text_without_a_quotation_is_all_of_the_reply() -> None:
    text = "\n".join(f"Line {number} says enough." for number in range(1000))
    assert reply(text) == text
    assert reply("") == ""


def test_the_html_is_read_where_there_is_no_text() -> None:
    message = mail()
    message.set_content(
        "<p>Yes, &uuml;ber all.</p><div class=gmail_quote>"
        "<div>On Mon, Ann &lt;ann@x.test&gt; wrote:"
        "<br></div><blockquote><p>Do you agree?</p></blockquote></div>",
        subtype="html",
    )
    assert reply_text.of(parsing.read(octets_of(message))) == "Yes, über all."


@pytest.mark.parametrize(
    "piece",
    [
        *("\n", " \n", "> ", "On ", "On On a ", "On a\n", "From: \n", "Warning: mail a\n"),
        *("Sent from my a ", "Am schrieb ", "Le a écrit ", "2026年1月1日(a) 10:00a <a>", "\ue000"),
        *("_" * 199 + "\n", ("On On a " * 20) + "\n", ("> " * 30 + "On " + "a b " * 25) + "\n"),
    ],
)
def test_hostile_texts_cost_little(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    reply(text[:1000])  # the library compiles its patterns
    began = time.thread_time()
    reply(text)
    assert time.thread_time() - began < 2


PIECES = st.sampled_from(
    ["\n", "> ", "On a wrote:", "From: a\n", "\ue0000\ue001", "--\n", "x" * 300]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=30).map("".join))
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    assert "\ue000" not in reply(text)


#: What the library takes away begins or ends with one of them, or nearly so
MARKS = st.sampled_from(
    [
        *("On Mon, Ann wrote:", "On a wrote :", "wrote", "From: a", "To: b", "Subject:", "cc:x"),
        *("-----Original Message-----", "--", "__", "-_\n", "---\n", "-" * 31, "_" * 32, "-" * 33),
        *("Sent from my phone", "Sent from", "Get Outlook for X", "Best regards", "Best Regards"),
        *("Thanks,", "thanks", "Thank you, a", "Best,", "All the best", "Kind regards", "regards,"),
        *("CAUTION: mail", "Disclaimer mail", "Warning: e-mail", "Private Note: mail", "mail"),
        *("Important Information: mail", "Confidentiality: mail", "Confident", "\u0130", "\u0131"),
        *("Thank\u017f,", "Be\u017ft,", "\u212aind regards", "Pr\u0131vate Not\u0131ce: ma\u0131l"),
    ]
)
FILLERS = st.sampled_from(["\n", "\n\n", " ", "> ", ". ", "a", "Some words.\n", "\u00a0", "\u00df"])


@given(st.lists(MARKS | FILLERS | FILLERS | st.text(max_size=3), max_size=12).map("".join))
@settings(max_examples=300, deadline=None)
def test_a_text_that_the_library_is_not_asked_about_is_one_it_leaves_alone(text: str) -> None:
    stripped = "\n".join(line.strip() for line in text.split("\n"))
    if not reply_text._is_all_own(stripped, stripped.casefold()):
        return
    own, is_cut = reply_text._read_by_library(stripped, [])
    assert (stripped.strip(), False) == (own, is_cut)


def test_an_everyday_text_needs_no_library() -> None:
    text = "Yes, that is fine \u2013 I agree.\n\nSee you on Monday,\nBob"
    assert reply_text._is_all_own(text, text.casefold())
    assert reply(text) == text
