"""Parse received messages as the standard library does, and hostile ones in linear time."""

from __future__ import annotations

import base64
import importlib.util
import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.spool import Octets
from chalicelib.received_mail import parsing
from chalicelib.received_mail.model import ParsedMessage
from tests.unit.linear_time import assert_linear
from tests.unit.received_mail.examples import mail, octets_of

MULTIPART = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"


@contextmanager
def mapped(octets: bytes) -> Iterator[mmap.mmap]:
    with tempfile.TemporaryFile() as file:
        file.write(octets)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            yield mapping


def contents(octets: Octets, parsed: ParsedMessage) -> list[bytes]:
    return [b"".join(parsing.content_of(octets, each)) for each in parsed.attachments]


def part(*fields: str, body: str = "x") -> bytes:
    return "\r\n".join([*fields, "", body, ""]).encode()


def parts(*inner: bytes) -> bytes:
    return MULTIPART + b"".join(b"--b\r\n" + each for each in inner) + b"--b--\r\n"


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
LINES = st.lists(TEXTS, max_size=8).map("\n".join)
NAMES = st.text("aß€ .-_()'%\u65e5", min_size=1, max_size=30).map(lambda each: f"n{each}x")
FILES = st.tuples(NAMES, st.binary(max_size=300), st.sampled_from(["image/png", "a/b"]))


@st.composite
def messages(draw: st.DrawFn) -> EmailMessage:
    """Draw a message with texts and files, as the standard library writes it."""
    subject = draw(TEXTS.map(str.strip))
    message = EmailMessage()
    message["From"] = "Jörg <joerg@x.test>"
    message["To"] = 'Ann <ann@x.test>, "B, C" <b.c@x.test>'
    message["Subject"] = subject
    message.set_content(draw(LINES), cte=draw(st.sampled_from(["base64", "quoted-printable"])))
    if draw(st.booleans()):
        message.add_alternative(f"<p>{draw(LINES)}</p>", subtype="html")
    for name, content, kind in draw(st.lists(FILES, max_size=3)):
        main, sub = kind.split("/")
        message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return message


@given(messages())
@settings(max_examples=150, deadline=None)
def test_messages_are_read_as_the_standard_library_reads_them(message: EmailMessage) -> None:
    octets = octets_of(message)
    judge = message_from_bytes(octets, policy=policy.default)
    parsed = parsing.read(octets)
    assert parsed.subject == str(judge["subject"])
    assert parsed.to == ("ann@x.test", "b.c@x.test")
    assert parsed.friendly_from == "joerg@x.test"
    plain, html = judge.get_body(("plain",)), judge.get_body(("html",))
    for text, body in ((parsed.text, plain), (parsed.html, html)):
        assert text == (body.get_content().replace("\r\n", "\n") if body else None)
    files = list(judge.iter_attachments())
    assert [each.name for each in parsed.attachments] == [each.get_filename() for each in files]
    assert [each.type for each in parsed.attachments] == [each.get_content_type() for each in files]
    assert contents(octets, parsed) == [each.get_payload(decode=True) for each in files]
    assert [each.size for each in parsed.attachments] == list(map(len, contents(octets, parsed)))
    with mapped(octets) as mapping:
        assert parsing.read(mapping) == parsed


def _corpus() -> list[Path]:
    """Return the messages in the tests of the standard library, where those are installed."""
    spec = importlib.util.find_spec("test.test_email")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else Path("missing")
    return sorted(folder.glob("msg_*.txt"))


@pytest.mark.parametrize("path", _corpus(), ids=lambda path: path.name)
def test_the_messages_of_the_standard_library_are_read_as_it_reads_them(path: Path) -> None:
    octets = path.read_bytes()
    judge = message_from_bytes(octets, policy=policy.compat32)
    parsed = parsing.read(octets)
    if any(each.defects for each in judge.walk()):
        return  # it was read without a fault; what it means is anybody's guess
    leaves = list(_leaves(judge))
    own = {each.number: each for each in parsed.attachments}
    for number, leaf in enumerate(leaves):
        if number in own:
            assert own[number].type == leaf.get_content_type()
        else:
            assert leaf.get_content_type() in ("text/plain", "text/html")
        if number in own and leaf.get_content_maintype() != "message":
            content = b"".join(parsing.content_of(octets, own[number]))
            assert content == leaf.get_payload(decode=True)
    assert max(own, default=0) < len(leaves)


def _leaves(message: Message) -> Iterator[Message]:
    if message.get_content_maintype() == "multipart" and message.is_multipart():
        for each in message.get_payload():
            yield from _leaves(each)  # type: ignore[arg-type]
    else:
        yield message


def test_the_last_text_and_html_are_those_of_the_message() -> None:
    parsed = parsing.read(
        parts(
            part("Content-Type: text/plain", body="first"),
            part("Content-Type: text/html", body="<b>first</b>"),
            part("Content-Type: text/plain", body="last"),
            part("Content-Type: text/plain", "Content-Disposition: attachment", body="file"),
            part("Content-Type: text/html", "Content-Disposition: inline; filename=a.html"),
        )
    )
    assert (parsed.text, parsed.html) == ("last", "<b>first</b>")
    assert [(each.number, each.name, each.is_inline) for each in parsed.attachments] == [
        (3, "", False),
        (4, "a.html", True),
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (
            ["Content-Disposition: attachment; filename*0*=utf-8''gr%C3%BC; filename*1=n.txt"],
            "grün.txt",
        ),
        (["Content-Disposition: attachment; filename==?utf-8?q?gr=C3=BCn?="], "grün"),
        (['Content-Disposition: attachment; filename="=?iso-8859-1?Q?gr=FCn?="'], "grün"),
        (["Content-Disposition: attachment; filename=my file.txt; size=1"], "my file.txt"),
        (['Content-Type: a/b; name="a;b\\"c.txt"'], 'a;b"c.txt'),
        (["Content-Type: a/b; name=x", "Content-Disposition: inline; filename=y"], "y"),
        (["Content-Type: a/b; name*=iso-8859-1'de'gr%FCn"], "grün"),
        (['Content-Disposition: attachment; filename="../../etc/passwd"'], "passwd"),
        (['Content-Disposition: attachment; filename="C:\\\\a\\\\b.exe"'], "b.exe"),
        (["Content-Disposition: attachment; filename=a\u202egpj.exe"], "a gpj.exe"),
        (["Content-Disposition: attachment; filename=a\u200fb\u2028c\u0085d"], "a b c d"),
        (["Content-Disposition: attachment; filename=.."], ""),
        (["Content-Type: message/rfc822"], "message.eml"),
        (["Content-Type: application/ms-tnef; name=winmail.dat"], "winmail.dat"),
    ],
)
def test_files_have_their_names_in_every_form(fields: list[str], name: str) -> None:
    if not fields[0].startswith("Content-Type"):
        fields = ["Content-Type: a/b", *fields]
    (attachment,) = parsing.read(parts(part(*fields))).attachments
    assert attachment.name == name


def test_a_content_id_has_a_limit() -> None:
    (attachment,) = parsing.read(
        parts(part("Content-Type: a/b", f"Content-ID: <{'x' * 9000}>"))
    ).attachments
    assert attachment.content_id == "x" * 255


def test_an_attached_message_is_one_file() -> None:
    inner = octets_of(mail("inner"))
    octets = parts(b"Content-Type: message/rfc822\r\n\r\n" + inner)
    parsed = parsing.read(octets)
    assert contents(octets, parsed) == [inner[:-2]]
    assert parsed.text is None


def test_a_file_has_its_content_id_without_brackets() -> None:
    parsed = parsing.read(parts(part("Content-Type: image/png", "Content-ID: <a@b>")))
    assert parsed.attachments[0].content_id == "a@b"


@pytest.mark.parametrize(
    ("value", "addresses"),
    [
        ("a@b.test", ("a@b.test",)),
        ("Ann <a@b.test>", ("a@b.test",)),
        ('"Ann, B" <a@b.test>, c@d.test (Carl)', ("a@b.test", "c@d.test")),
        ("Team: a@b.test, C <c@d.test>;", ("a@b.test", "c@d.test")),
        ("undisclosed-recipients:;", ()),
        ("=?utf-8?q?J=C3=B6rg?= <j\u00f6rg@b\u00fccher.test>", ("j\u00f6rg@b\u00fccher.test",)),
        ("=?utf-8?q?a=40b.test?=", ("a@b.test",)),
        ("<>", ()),
        ("nobody", ()),
    ],
)
def test_recipients_are_bare_addresses(value: str, addresses: tuple[str, ...]) -> None:
    assert parsing.read(f"To: {value}\r\nCc: {value}\r\n\r\n".encode()).to == addresses
    assert parsing.read(f"To: {value}\r\nCc: {value}\r\n\r\n".encode()).cc == addresses


def test_header_fields_are_decoded_in_their_order_with_repeats() -> None:
    octets = (
        b"Received: a\r\nReceived: b\r\n by c\r\n"
        b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n =?utf-8?q?!?=\r\n"
        b"X-A: \xc3\xbc\r\nFrom: A <a@b.test>\r\n"
        b"In-Reply-To: <1@x>\r\nReferences: <3@x> <2@x> <1@x>\r\n\r\nHi"
    )
    parsed = parsing.read(octets)
    assert parsed.headers[:4] == (
        ("Received", "a"),
        ("Received", "b by c"),
        ("Subject", "Grüße!"),
        ("X-A", "ü"),
    )
    assert (parsed.hops, parsed.friendly_from) == (2, "a@b.test")
    assert parsed.references == ("1@x", "2@x", "3@x")


@pytest.mark.parametrize(
    ("charset", "octets", "text"),
    [
        ("utf-8", b"\xc3\xbc", "ü"),
        ("iso-8859-15", b"\xa4", "€"),
        ("iso-2022-jp", b'\x1b$B$"\x1b(B', "あ"),
        ("utf-16-le", "ü\r\ny".encode("utf-16-le"), "ü\ny"),
        ("us-ascii", b"\xc3\xbc", "ü"),
        ("utf-8", b"\x80\xfc", "€ü"),
        ("no-such", b"\xfc", "ü"),
        ("punycode", b"\xc3\xbc", "ü"),
    ],
)
def test_texts_are_decoded_by_their_charset_or_the_likely_one(
    charset: str, octets: bytes, text: str
) -> None:
    head = f"Content-Type: text/plain; charset={charset}\r\n\r\n".encode()
    assert parsing.read(head + octets).text == text


@pytest.mark.parametrize(
    ("field", "is_automatic"),
    [
        *(("Auto-Submitted: no", False), ("Auto-Submitted: auto-replied", True)),
        *(("Precedence: bulk", True), ("Precedence: first-class", False)),
        *(("List-Id: <a.b.test>", True), ("X-A: b", False)),
    ],
)
def test_automatic_mail_is_told(field: str, is_automatic: bool) -> None:
    assert parsing.read(f"{field}\r\n\r\n".encode()).is_automatic is is_automatic


def test_a_long_text_is_cut_between_characters() -> None:
    octets = b"Content-Type: text/plain; charset=utf-8\r\n\r\n" + b"\xc3\xbc" * parsing.MOST_TEXT
    text = parsing.read(octets + b"x").text
    assert text == "ü" * (parsing.MOST_TEXT // 2)


def test_parts_beyond_the_limits_are_left_out() -> None:
    many = MULTIPART + b"--b\r\nContent-Type: a/b\r\n\r\nx\r\n" * 2000
    assert len(parsing.read(many).attachments) == parsing.LIMITS.parts
    deep = b"".join(
        b"Content-Type: multipart/x; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(99)
    )
    (attachment,) = parsing.read(deep).attachments
    assert attachment.type == "multipart/x"


def test_empty_parts_are_skipped_up_to_a_limit() -> None:
    text = b"\r\nHi\r\n--b--"
    assert parsing.read(MULTIPART + b"--b\r\n" * 100 + text).text == "Hi"
    # Each takes a search: twenty megabytes of them would take seconds
    assert parsing.read(MULTIPART + b"--b\r\n" * 2000 + text).text != "Hi"


HOSTILE = [
    *(b"\n", b"a:b\n", b"\r", b"To: ((\n", b'To: "\\\n', b"Subject: =?utf-8?q?\n"),
    *(MULTIPART + b"--b\n", b"--b\n", b"=?utf-8?q?a?= ", b"a=", b";filename*1=a"),
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"To: ", b"Subject: ", b"Content-Type: ", MULTIPART, b"\r\n"),
        b"Content-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\n",
        b"Content-Type: a/b\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n",
        b"Content-Type: a/b\r\nContent-Disposition: attachment;",
    ],
)
def test_hostile_messages_are_read_in_linear_time(head: bytes, piece: bytes) -> None:
    # Header sections have a limit: what is behind it costs next to nothing
    assert_linear(parsing.read, head + piece * (200_000 // len(piece)))


PIECES = st.sampled_from([MULTIPART, b"--b", b"--b--", b"\r\n", b"=", b"base64", b": ", b";a*0*="])


@given(st.lists(PIECES | st.binary(max_size=6), max_size=40).map(b"".join))
@settings(max_examples=300, deadline=None)
def test_any_octets_can_be_read(octets: bytes) -> None:
    parsed = parsing.read(octets)
    assert [each.size for each in parsed.attachments] == list(map(len, contents(octets, parsed)))
    if octets:
        with mapped(octets) as mapping:
            assert parsing.read(mapping) == parsed


@given(st.binary(max_size=2000), st.integers(1, 60), st.integers(1, 700))
def test_content_is_the_same_in_pieces_of_any_size(content: bytes, width: int, piece: int) -> None:
    digits = base64.b64encode(content)
    lines = b"\r\n".join(digits[at : at + width] for at in range(0, len(digits), width))
    head = b"Content-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chalicelib.core.spool.PIECE", piece)
        parsed = parsing.read(head + lines)
        assert contents(head + lines, parsed) == [content]
        assert parsed.attachments[0].size == len(content)
        quoted = head.replace(b"base64", b"quoted-printable") + _quoted(content, width)
        parsed = parsing.read(quoted)
        assert contents(quoted, parsed) == [content]


def _quoted(content: bytes, width: int) -> bytes:
    """Return content as quoted-printable, each octet as an escape, in lines."""
    escapes = [b"=%02X" % octet for octet in content]
    lines = [b"".join(escapes[at : at + width]) for at in range(0, len(escapes), width)]
    return b"=\r\n".join(lines)


def test_a_message_of_20_mb_needs_little_memory() -> None:
    line = base64.b64encode(bytes(57)) + b"\r\n"
    octets = parts(part("Content-Type: text/plain", body="Hi"), b"")[:-7]
    octets += b"Content-Type: a/b\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    count = 20 * 1024 * 1024 // len(line)
    with mapped(octets + line * count + b"--b--\r\n") as mapping:
        parsing.read(b"\r\n")
        before = _anonymous_kb()
        parsed = parsing.read(mapping)
        size = sum(map(len, parsing.content_of(mapping, parsed.attachments[0])))
        assert _anonymous_kb() - before < 10_000
    assert size == parsed.attachments[0].size == count * 57


def _anonymous_kb() -> int:
    """Return the memory of this process that is not the kernel's cache of files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


MAILS = Path(__file__).parent / "mails"


@pytest.mark.parametrize(
    ("name", "text", "html", "files"),
    [
        ("mixed", "Good Morning;", "<HR>", []),
        ("nested", "The footer", "<p>The footer</p>", []),
        ("delivery-status", "An error occurred", None, [("", 461), ("message.eml", 1024)]),
        ("base64encodedroot", None, None, [("screenshot.png", 425)]),
        ("decoderended", "Note: forwarded message", "html section\u00dc", [("message.eml", 0)]),
    ],
)
def test_the_test_messages_of_mailparser_are_read(
    name: str, text: str | None, html: str | None, files: list[tuple[str, int]]
) -> None:
    parsed = parsing.read((MAILS / f"{name}.eml").read_bytes())
    for content, start in ((parsed.text, text), (parsed.html, html)):
        assert (content is None) is (start is None)
        assert (start or "") in (content or "")
    assert [(each.name, each.size) for each in parsed.attachments] == files
