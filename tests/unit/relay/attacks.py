"""List attacks on a port that takes mail from anyone: what a client says, and what may come of it.

Each says something between its greeting and its end. A transaction that is hidden in it names the
sender ``HIDDEN``, whom nobody may ever see; a part of an attack that is a message has ``SENDER``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

HIDDEN = b"hidden@evil.test"
SENDER = b"sender@example.test"
RECIPIENT = b"anyone@inbound.test"
HELLO = b"EHLO client.test\r\n"
BEGIN = b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\n" % (SENDER, RECIPIENT)
MESSAGE = b"Subject: hello\r\n\r\nbody\r\n"
END = b"RSET\r\nQUIT\r\n"
CALM = (250, 221)
CLOSED = (421,)

#: Limits that the attacked relay has
MOST_OCTETS = 20_000
LONGEST_LINE = 2_000

_HIDDEN_BEGIN = b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\n" % (HIDDEN, RECIPIENT)
_PAYLOADS = {
    "data": _HIDDEN_BEGIN + b"DATA\r\n" + MESSAGE + b".\r\n",
    "chunk": _HIDDEN_BEGIN + b"BDAT %d LAST\r\n" % len(MESSAGE) + MESSAGE,
    "reset": b"RSET\r\n" + _HIDDEN_BEGIN + b"DATA\r\n" + MESSAGE + b".\r\n",
    "hello": b"EHLO evil.test\r\n" + _HIDDEN_BEGIN + b"BDAT 2 LAST\r\n\r\n",
}


@dataclass(frozen=True, slots=True)
class Attack:
    """What a client says after its EHLO.

    ``last`` are the codes of the last replies. ``messages`` is how many messages may be stored;
    none of them is ``HIDDEN``'s. ``step`` is how many octets go out at once, 0 for all.
    """

    name: str
    octets: bytes
    last: tuple[int, ...] = CALM
    messages: int = 0
    step: int = 0


def attacks() -> list[Attack]:
    """Return all attacks, each under a name of its own."""
    groups = (
        _false_ends(),
        _chunks_that_hide_commands(),
        _sizes_of_chunks(),
        _orders_of_chunks(),
        _command_lines(),
        _recipients(),
        _senders(),
        _parameters(),
        _contents(),
    )
    return [attack for group in groups for attack in group]


def _false_ends() -> Iterator[Attack]:
    """A message that looks as if it ended earlier, to some servers."""
    ends = {
        b"\n.\n": 0,
        b"\n.\r\n": 0,
        b"\r.\r": 0,
        b"\r.\r\n": 0,
        b"\r.\n": 0,
        b"\r\n.\r": 0,
        b"\r\n.\n": 0,
        b"\r\n.\r\r\n": 0,
        b"\r\n\r.\r\n": 0,
        b"\r\r\n.\r\r\n": 0,
        b"\n\r.\n\r": 0,
        b"\r\n\0.\r\n": 0,
        b"\r\n.\0\r\n": 0,
        b"\0\r\n.\n": 0,
        b"\r\n..\r\n": 1,
        b"\r\n .\r\n": 1,
        b"\r\n. \r\n": 1,
        b"\r\n.\t\r\n": 1,
        b"\x0b.\x0b": 1,
        b"\x0c.\x0c": 1,
        b"\x85.\x85": 1,
        b"\xe2\x80\xa8.\xe2\x80\xa8": 1,
        b"\r\n\xef\xbc\x8e\r\n": 1,
        b"\r\n=2E\r\n": 1,
    }
    for (end, messages), (kind, payload) in product(ends.items(), _PAYLOADS.items()):
        # What is hidden has no end of its own in a message by DATA
        hidden = payload.replace(b"\r\n.\r\n", b"\r\n..\r\n")
        content = b"Subject: x\r\n\r\nfirst" + end + hidden
        for step in (0, 7):
            yield Attack(
                f"false end {end!r} {kind} step {step}",
                BEGIN + b"DATA\r\n" + content + b"\r\n.\r\n" + END,
                messages=messages,
                step=step,
            )
        chunk = content + payload + b"\r\n"
        yield Attack(
            f"false end {end!r} {kind} in a chunk",
            BEGIN + b"BDAT %d LAST\r\n" % len(chunk) + chunk + END,
            messages=messages,
        )


def _chunks_that_hide_commands() -> Iterator[Attack]:
    """Chunks for which there is no message: their octets are no commands either."""
    places = {
        "before MAIL": b"",
        "before RCPT": b"MAIL FROM:<%b>\r\n" % SENDER,
        "after a refused RCPT": b"MAIL FROM:<%b>\r\nRCPT TO:<x@elsewhere.test>\r\n" % SENDER,
        "after the last chunk": BEGIN + b"BDAT 4 LAST\r\nab\r\n",
        "after DATA within chunks": BEGIN + b"BDAT 4\r\nab\r\nDATA\r\n",
        "after a refused chunk": BEGIN + b"BDAT 4\r\na\nb\n",
        "after RSET": BEGIN + b"BDAT 4\r\nab\r\nRSET\r\n",
        "after EHLO": BEGIN + b"BDAT 4\r\nab\r\n" + HELLO,
        "after a refused message": BEGIN + b"DATA\r\na\nb\r\n.\r\n",
    }
    for (place, before), (kind, payload), is_last in product(
        places.items(), _PAYLOADS.items(), (True, False)
    ):
        last = b" LAST" if is_last else b""
        yield Attack(
            f"chunk {place} {kind}{last.decode()}",
            before + b"BDAT %d%b\r\n" % (len(payload), last) + payload + END,
            messages=int(place == "after the last chunk"),
        )


def _sizes_of_chunks() -> Iterator[Attack]:
    """Sizes that servers read in different ways; what follows is never a command."""
    sizes = (
        *(b"-1", b"+5", b"0x5", b"5.0", b"5,LAST", b"1e3", b"5 5", b"5 LAST LAST", b"LAST", b""),
        *(
            b"5 FIRST",
            b"5LAST",
            b"5\tLAST",
            b"\xef\xbc\x95 LAST",
            b"\xd9\xa5",
            b"5;LAST",
            b"5 LAST;",
        ),
        *(b"%d" % (MOST_OCTETS + 1), b"%d" % 2**31, b"%d" % 2**32, b"%d LAST" % 2**63),
        *(b"18446744073709551616", b"18446744073709551621 LAST", b"9" * 20, b"9" * 21, b"9" * 300),
        *(b"0b101", b"0o5", b"5_0", b"five", b"5 LAST 5", b"- 5", b"5 L", b"NaN", b"inf LAST"),
    )
    places = {
        "first": b"",
        "after RCPT": BEGIN,
        "within chunks": BEGIN + b"BDAT 4\r\nab\r\n",
    }
    for size, (place, before) in product(sizes, places.items()):
        yield Attack(
            f"size {size[:24]!r} {place}",
            before + b"BDAT " + size + b"\r\n" + _PAYLOADS["reset"] + END,
            last=CLOSED,
        )
    for size in (b"4", b"004", b"4  LAST", b"4 last", b"4 Last"):
        is_last = b"a" in size.lower()
        end = b"" if is_last else b"BDAT 0 LAST\r\n"
        yield Attack(
            f"size {size!r} is read",
            BEGIN + b"BDAT " + size + b"\r\nab\r\n" + end + END,
            messages=1,
        )


def _orders_of_chunks() -> Iterator[Attack]:
    """Chunks where DATA, RCPT or MAIL is expected, and the other way round."""
    chunk = b"BDAT 4\r\nab\r\n"
    orders: dict[str, tuple[bytes, int]] = {
        "DATA within chunks": (BEGIN + chunk + b"DATA\r\n", 0),
        "DATA within chunks, then a chunk": (BEGIN + chunk + b"DATA\r\nBDAT 0 LAST\r\n", 0),
        "RCPT within chunks": (
            BEGIN + chunk + b"RCPT TO:<victim@elsewhere.test>\r\nBDAT 0 LAST\r\n",
            1,
        ),
        "MAIL within chunks": (
            BEGIN + chunk + b"MAIL FROM:<%b>\r\nBDAT 0 LAST\r\n" % HIDDEN,
            1,
        ),
        "LAST twice": (BEGIN + b"BDAT 4 LAST\r\nab\r\nBDAT 4 LAST\r\ncd\r\n", 1),
        "an empty message": (BEGIN + b"BDAT 0 LAST\r\n", 1),
        "many empty chunks": (BEGIN + b"BDAT 0\r\n" * 200 + b"BDAT 0 LAST\r\n", 1),
        "chunks of one octet": (
            BEGIN + b"".join(b"BDAT 1\r\n%c" % o for o in MESSAGE) + b"BDAT 0 LAST\r\n",
            1,
        ),
        "CR and LF in two chunks": (BEGIN + b"BDAT 2\r\na\rBDAT 3 LAST\r\n\nb\n", 0),
        "a line end cut in two": (BEGIN + b"BDAT 2\r\na\rBDAT 4 LAST\r\n\nb\r\n", 1),
        "a CR at the end": (BEGIN + b"BDAT 2 LAST\r\na\r", 0),
        "an LF at the end": (BEGIN + b"BDAT 2 LAST\r\na\n", 0),
        "a NUL": (BEGIN + b"BDAT 3 LAST\r\na\0b", 0),
        "no line end at the end": (BEGIN + b"BDAT 1 LAST\r\na", 1),
        "dots are no end": (BEGIN + b"BDAT 9 LAST\r\na\r\n.\r\nb\r\n", 1),
        "too big in two chunks": (
            BEGIN + b"BDAT 9000\r\n" + b"a" * 9_000 + b"BDAT 9000 LAST\r\n" + b"b" * 9_000,
            0,
        ),
        "a chunk over the limit of the domain": (
            BEGIN + b"BDAT 15000 LAST\r\n" + (b"a" * 98 + b"\r\n") * 150,
            0,
        ),
        "binary is not offered": (
            b"MAIL FROM:<%b> BODY=BINARYMIME\r\nRCPT TO:<%b>\r\n" % (SENDER, RECIPIENT)
            + b"BDAT 4 LAST\r\nab\r\n",
            0,
        ),
        "RSET within chunks": (BEGIN + chunk + b"RSET\r\nBDAT 0 LAST\r\n", 0),
        "VRFY within chunks": (BEGIN + chunk + b"VRFY x\r\nBDAT 0 LAST\r\n", 1),
        "STARTTLS with an argument within chunks": (
            BEGIN + chunk + b"STARTTLS now\r\nBDAT 0 LAST\r\n",
            1,
        ),
        "AUTH within chunks": (BEGIN + chunk + b"AUTH PLAIN AAAA\r\nBDAT 0 LAST\r\n", 1),
        "HELP within chunks": (BEGIN + chunk + b"HELP\r\nBDAT 0 LAST\r\n", 1),
        "an unknown command within chunks": (BEGIN + chunk + b"XYZ\r\nBDAT 0 LAST\r\n", 1),
    }
    for (name, (octets, messages)), step in product(orders.items(), (0, 1)):
        yield Attack(f"{name} step {step}", octets + END, messages=messages, step=step)


def _command_lines() -> Iterator[Attack]:
    """Lines that two servers may divide in different ways: no part of one is a command."""
    commands = (
        *(b"NOOP", b"RSET", b"HELP", b"VRFY x", b"EXPN x", b"EHLO x", b"HELO x", b"XYZ"),
        *(b"MAIL FROM:<a@x.test>", b"RCPT TO:<%b>" % RECIPIENT, b"DATA", b"BDAT 0"),
    )
    breaks = {
        "LF": b"\n",
        "CR": b"\r",
        "NUL": b"\0",
        "LF CR": b"\n\r",
        "CR CR LF": b"\r\r\n",
        "NUL LF": b"\0\n",
        "long": b" " + b"x" * 3_000,
    }
    # One line in all, up to its CRLF
    hidden = b"MAIL FROM:<%b>\r\n" % HIDDEN
    for command, (name, octets) in product(commands, breaks.items()):
        if octets.endswith(b"\r\n"):
            line = command + octets
            yield Attack(f"{command!r} with {name}", line + END)
        else:
            yield Attack(f"{command!r} with {name}", command + octets + hidden + END)


def _recipients() -> Iterator[Attack]:
    """Recipients elsewhere, under names that look like ours."""
    addresses = (
        *(
            "victim@elsewhere.test",
            "victim%elsewhere.test@other.test",
            "elsewhere.test!victim@x.test",
        ),
        *("@inbound.test:victim@elsewhere.test", "victim@elsewhere.test@inbound.test"),
        *("a@sub.inbound.test", "a@inbound.test.elsewhere.test", "a@xinbound.test", "a@inbound"),
        *("a@inbound.test.", "a@.inbound.test", "a@inbound..test", "a@", "@inbound.test", "a", ""),
        *("a@[127.0.0.1]", "a@[IPv6:::1]", "a@127.0.0.1", "a@localhost", "a@[inbound.test]"),
        *('"a"@elsewhere.test', '"a@inbound.test"@elsewhere.test', '"a@inbound.test>"@x.test'),
        *(
            "a@inbound.test,b@x.test",
            "a@x.test (inbound.test)",
            "a@inbound.test (x",
            "a b@inbound.test",
        ),
        *("a@inbound.test\tx", "a@inbound.test\x7f", "a@\u0456nbound.test", "a@inbound\u3002test"),
        *(
            "a@inbound.test\u200b",
            "a@inbound.test/../x",
            "a@x.test#inbound.test",
            "a@x.test?inbound.test",
        ),
        *(
            "a@x.test;@inbound.test",
            "a@x.test/inbound.test",
            "|/bin/sh",
            "/etc/passwd",
            ":include:/x",
        ),
        *(
            "a" * 300 + "@inbound.test",
            "a@" + "b." * 150 + "test",
            "postmaster",
            "Postmaster",
            "abuse",
        ),
        *("a@INBOUND.TEST.elsewhere.test", "victim@elsewhere.test>RCPT TO:<a@inbound.test"),
    )
    for address in addresses:
        octets = b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\nDATA\r\n" % (SENDER, address.encode())
        yield Attack(f"recipient {address[:60]!a}", octets + END)


def _senders() -> Iterator[Attack]:
    """Senders that are none, with what would run if a line ended within them."""
    addresses = (
        *("a@x.test> SIZE=-1 <", "a@x.test\tb", "a b@x.test", "a@x..test", "a@.x.test", "@x.test"),
        *("a@x.test>\x1b[2J", "a@[", "a@]", '"a@x.test', '"a\\"@x.test', "a@x.test\u2028b"),
        *(
            "a@x.test>>",
            "<a@x.test>",
            "a@b@c",
            "\u00fc@x.test",
            "a" * 400 + "@x.test",
            "a@" + "x" * 400,
        ),
    )
    for address in addresses:
        octets = b"MAIL FROM:<%b>\r\nRCPT TO:<%b>\r\nDATA\r\n" % (address.encode(), RECIPIENT)
        yield Attack(f"sender {address[:60]!a}", octets + END)
    for argument in (b"FROM:a@x.test", b"FROM <a@x.test>", b"<a@x.test>", b"", b"TO:<a@x.test>"):
        octets = b"MAIL " + argument + b"\r\nRCPT TO:<%b>\r\nDATA\r\n" % RECIPIENT
        yield Attack(f"MAIL {argument!r}", octets + END)


def _parameters() -> Iterator[Attack]:
    """Parameters of MAIL and RCPT that are none."""
    of_mail = (
        *(b"SIZE=-1", b"SIZE=", b"SIZE=1e3", b"SIZE=0x10", b"SIZE=999999999999999999999", b"SIZE"),
        *(b"SIZE=20001", b"SIZE=1 SIZE=1", b"BODY=", b"BODY=BINARY", b"BODY=BINARYMIME", b"BODY"),
        *(b"SMTPUTF8=1", b"SMTPUTF8 SMTPUTF8", b"RET=", b"RET=ALL", b"RET", b"RET=FULL RET=HDRS"),
        *(
            b"ENVID=",
            b"ENVID=+ZZ",
            b"ENVID=+0d",
            b"ENVID=a=b",
            b"ENVID=" + b"a" * 101,
            b"ENVID=\x7f",
        ),
        *(b"NOTIFY=NEVER", b"ORCPT=rfc822;a@x.test", b"AUTH=", b"XYZ", b"XYZ=1", b"=1", b"="),
        *(b"MT-PRIORITY=9", b"HOLDFOR=1", b"BY=1;N", b"REQUIRETLS", b"TRANSID=<a>", b"SOLICIT=x"),
    )
    for parameter in of_mail:
        octets = b"MAIL FROM:<%b> %b\r\nRCPT TO:<%b>\r\nDATA\r\n" % (SENDER, parameter, RECIPIENT)
        yield Attack(f"MAIL with {parameter[:40]!r}", octets + END)
    of_recipient = (
        *(b"NOTIFY=", b"NOTIFY", b"NOTIFY=ALWAYS", b"NOTIFY=NEVER,SUCCESS", b"NOTIFY=SUCCESS,"),
        *(b"NOTIFY=SUCCESS,SUCCESS", b"NOTIFY=NEVER NOTIFY=NEVER", b"ORCPT=", b"ORCPT=rfc822"),
        *(
            b"ORCPT=rfc822;",
            b"ORCPT=;a@x.test",
            b"ORCPT=rfc822;a=b",
            b"ORCPT=rfc822;+g0",
            b"SIZE=1",
        ),
        *(b"ORCPT=rfc822;" + b"a" * 501, b"RRVS=x", b"XYZ", b"RET=FULL", b"=", b"ORCPT=a/b;c"),
    )
    for parameter in of_recipient:
        octets = b"MAIL FROM:<%b>\r\nRCPT TO:<%b> %b\r\nDATA\r\n" % (SENDER, RECIPIENT, parameter)
        yield Attack(f"RCPT with {parameter[:40]!r}", octets + END)


def _contents() -> Iterator[Attack]:
    """Messages at the limits and beyond."""
    line = b"a" * 98 + b"\r\n"
    contents: dict[str, tuple[bytes, int]] = {
        "the longest line": (b"a" * (LONGEST_LINE - 2) + b"\r\n", 1),
        "a longer line": (b"a" * (LONGEST_LINE - 1) + b"\r\n", 0),
        "a longer line in the header": (b"X: " + b"a" * LONGEST_LINE + b"\r\n\r\n", 0),
        "the largest message": (line * 100, 1),
        "a larger message": (line * 100 + b"\r\n", 0),
        "far too large": (line * 5_000, 0),
        "all octets but three": (bytes(o for o in range(256) if o not in b"\r\n\0") + b"\r\n", 1),
        "only line ends": (b"\r\n" * 1_000, 1),
        "only NULs": (b"\0" * 1_000 + b"\r\n", 0),
        "a header without end": (b"X: y\r\n" * 1_500, 1),
        "a folded header": (b"X: y\r\n" + b" z\r\n" * 1_500, 1),
        "no header": (b"\r\nbody\r\n", 1),
        "no text": (b"", 1),
        "forged Received fields": (b"Received: by us; now\r\n" * 40 + b"\r\nbody\r\n", 1),
        "mbox": (b"From evil@x.test Mon Jan 1\r\n\r\nFrom x\r\n", 1),
        "commands as text": (_PAYLOADS["data"].replace(b".\r\n", b"\r\n"), 1),
    }
    for (name, (content, messages)), step in product(contents.items(), (0, 997)):
        stuffed = (b"\r\n" + content).replace(b"\r\n.", b"\r\n..")[2:]
        yield Attack(
            f"{name} by DATA step {step}",
            BEGIN + b"DATA\r\n" + stuffed + b".\r\n" + END,
            messages=messages,
            step=step,
        )
        if len(content) <= MOST_OCTETS:
            yield Attack(
                f"{name} by BDAT step {step}",
                BEGIN + b"BDAT %d LAST\r\n" % len(content) + content + END,
                messages=messages,
                step=step,
            )
