"""What mutt 2.2 and Thunderbird say to a server is answered as they need it.

Mutt's dialogue was recorded with a mailbox of five messages: it opened two, searched the text of
all, flagged one as deleted, and left. Thunderbird's is that of an account that is new: it lists and
selects, reads the headers of all messages, shows one, and waits.
"""

from __future__ import annotations

import re
import socket

import pytest

from infrastructure.local.mailbox.trace import Trace
from tests.unit.infrastructure.local.mail_readers.conftest import Post
from tests.unit.infrastructure.local.mail_readers.messages import ENCODED, MIXED, PLAIN

#: A command, and what the answer to it must match; DONE ends an IDLE
Dialogue = list[tuple[str, str]]

MUTT: Dialogue = [
    ("a0000 AUTHENTICATE PLAIN a2ltAGtpbQBhbnk=", r"a0000 OK \[CAPABILITY "),
    ("a0001 CAPABILITY", r"\* CAPABILITY IMAP4rev1 .*\r\na0001 OK "),
    ('a0002 LIST "" ""', r'\* LIST \(\\Noselect\) "/" ""\r\na0002 OK '),
    ('a0003 LSUB "" "*"', r'\* LSUB \(\\HasNoChildren\) "/" "INBOX"\r\n(\* .*\r\n)*a0003 OK '),
    ('a0004 SELECT "INBOX"', r"\* FLAGS .*\r\n\* 4 EXISTS\r\n(.*\r\n)*a0004 OK \[READ-WRITE\]"),
    (
        "a0005 FETCH 1:4 (UID FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (DATE FROM"
        " SENDER SUBJECT TO CC MESSAGE-ID REFERENCES CONTENT-TYPE CONTENT-DESCRIPTION IN-REPLY-TO"
        " REPLY-TO LINES LIST-POST X-LABEL)])",
        r'\* 1 FETCH \(UID 1 FLAGS \(\) INTERNALDATE "[^"]+" RFC822.SIZE 198 '
        r"BODY\[HEADER.FIELDS \(DATE FROM .* X-LABEL\)\] \{120\}\r\nFrom: Ann (.*\r\n)*"
        r"\r\n\)\r\n\* 2 FETCH (.*\r\n)*a0005 OK ",
    ),
    ("a0006 IDLE", r"\+ idling\r\n"),
    ("DONE", r"a0006 OK "),
    (
        "a0007 UID FETCH 2 BODY.PEEK[]",
        r"\* 2 FETCH \(UID 2 BODY\[\] \{842\}\r\nReturn-Path: (.*\r\n)*\)\r\na0007 OK ",
    ),
    ("a0015 UID STORE 1 +FLAGS.SILENT (\\Deleted)", r"a0015 OK "),
    ("a0016 UID STORE 2 +FLAGS.SILENT (\\Seen)", r"a0016 OK "),
    ("a0017 EXPUNGE", r"\* 1 EXPUNGE\r\na0017 OK "),
    ("a0019 CLOSE", r"a0019 OK "),
    ('a0020 SELECT "Inboxes/shop"', r"\* FLAGS .*\r\n\* 1 EXISTS\r\n(.*\r\n)*a0020 OK "),
    (
        'a0021 STATUS "INBOX" (UIDNEXT UIDVALIDITY UNSEEN RECENT)',
        r'\* STATUS "INBOX" \(UIDNEXT 5 UIDVALIDITY \d+ UNSEEN 2 RECENT 0\)\r\na0021 OK ',
    ),
    ("a0022 LOGOUT", r"\* BYE .*\r\na0022 OK "),
]

THUNDERBIRD: Dialogue = [
    ("1 capability", r"\* CAPABILITY IMAP4rev1 .*\bSTARTTLS\b.*\r\n1 OK "),
    ("2 authenticate PLAIN", r"\+ \r\n"),
    ("AGtpbQBhbnk=", r"2 OK "),
    ("3 capability", r"\* CAPABILITY .*\r\n3 OK "),
    ('4 ID ("name" "Thunderbird" "version" "128.5.0")', r'\* ID \("name" "Postfinch"\)\r\n4 OK '),
    ("5 namespace", r'\* NAMESPACE \(\("" "/"\)\) NIL NIL\r\n5 OK '),
    ('6 lsub "" "*"', r'\* LSUB \(\\HasNoChildren\) "/" "INBOX"\r\n(.*\r\n)*6 OK '),
    ('7 list "" "INBOX"', r'\* LIST \(\\HasNoChildren\) "/" "INBOX"\r\n7 OK '),
    ('8 select "INBOX"', r"\* FLAGS (.*\r\n)*\* OK \[UIDVALIDITY \d+\](.*\r\n)*8 OK "),
    (
        "9 UID fetch 1:* (FLAGS)",
        r"\* 1 FETCH \(UID 1 FLAGS \(\)\)\r\n(\* . FETCH .*\r\n){3}9 OK ",
    ),
    (
        "10 UID fetch 1:4 (UID RFC822.SIZE FLAGS BODY.PEEK[HEADER.FIELDS (From To Cc Bcc Subject"
        " Date Message-ID Priority X-Priority References Newsgroups In-Reply-To Content-Type"
        " Reply-To)])",
        r"\* 1 FETCH \(UID 1 RFC822.SIZE 198 FLAGS \(\) BODY\[HEADER.FIELDS \(From To .*\)\]"
        r" \{120\}\r\n(.*\r\n)*10 OK ",
    ),
    (
        "11 UID fetch 2 (UID RFC822.SIZE BODY.PEEK[])",
        r"\* 2 FETCH \(UID 2 RFC822.SIZE 842 BODY\[\] \{842\}\r\n(.*\r\n)*11 OK ",
    ),
    (
        "12 UID fetch 2 (UID BODYSTRUCTURE BODY.PEEK[2.MIME] BODY.PEEK[1.2]<0.5>)",
        r"\* 2 FETCH \(UID 2 BODYSTRUCTURE .* BODY\[2.MIME\] \{\d+\}\r\n(.*\r\n)*"
        r" BODY\[1.2\]<0> \{5\}\r\n<p>Ca\)\r\n12 OK ",
    ),
    ("13 uid store 2 +Flags (\\Seen)", r"\* 2 FETCH \(UID 2 FLAGS \(\\Seen\)\)\r\n13 OK "),
    ("14 IDLE", r"\+ idling\r\n"),
    ("DONE", r"14 OK "),
    ("15 noop", r"15 OK "),
    ('16 create "Trash"', r"16 NO \[CANNOT\] "),
    ('17 uid copy 2 "Trash"', r"17 NO \[CANNOT\] "),
    ("18 uid store 2 +FLAGS (\\Deleted \\Seen)", r"18 OK |\* 2 FETCH .*\r\n18 OK "),
    ("19 expunge", r"\* 2 EXPUNGE\r\n19 OK "),
    ("20 logout", r"\* BYE .*\r\n20 OK "),
]


@pytest.mark.parametrize("dialogue", [MUTT, THUNDERBIRD], ids=["mutt", "thunderbird"])
def test_a_dialogue_is_answered(post: Post, dialogue: Dialogue) -> None:
    post.add(PLAIN, MIXED, ENCODED)
    post.mailbox.store(Trace("me@a.test", ("you@b.test",), inbox="shop"), PLAIN)
    with socket.create_connection(("127.0.0.1", post.imap), timeout=60) as client:
        assert b"* OK [CAPABILITY IMAP4rev1 " in client.recv(1000)
        for command, answer in dialogue:
            client.sendall(command.encode() + b"\r\n")
            expected, text = re.compile(answer), ""
            while not (text.endswith("\r\n") and expected.match(text)):
                try:
                    octets = client.recv(65536)
                except TimeoutError:
                    octets = b""
                assert octets, f"{command}: {text}"
                text += octets.decode()
                assert not re.search(r"^\d+ BAD|^a\d+ BAD", text, re.MULTILINE), text
