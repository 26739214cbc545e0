"""Examples of inbound mail in the formats of many hosts; every text is invented."""

from __future__ import annotations

from typing import NamedTuple

RCPT = "ann@inbox.test"
COPY = """\
Return-Path: <b.1@bounce.test>
From: News <news@example.test>
To: <ann@inbox.test>
Subject: 550 5.1.1 is not about this
Message-ID: <1@example.test>

Hello, our address for complaints is 550 5.7.1 Main Street.
"""


class Sample(NamedTuple):
    """A message, and the bounce that it reports."""

    name: str
    message: str
    code: int
    bounce_class: int
    reply: str
    rcpt: str = RCPT


def mail(body: str, sender: str = "MAILER-DAEMON@mx.inbox.test", **fields: str) -> str:
    """Return a message with one text part."""
    headers = {"From": sender, "To": "<b.1@bounce.test>", "Subject": "failure notice"}
    headers |= {name.replace("_", "-"): value for name, value in fields.items()}
    return "".join(f"{name}: {value}\n" for name, value in headers.items()) + "\n" + body


def dsn(
    *groups: str,
    text: str = "It did not work.",
    kind: str = 'multipart/report; report-type=delivery-status; boundary="=_b"',
    status_head: str = "Content-Type: message/delivery-status",
    message_group: str = "Reporting-MTA: dns; mx.inbox.test\nArrival-Date: now",
    **fields: str,
) -> str:
    """Return a notification with these groups of fields, one for each recipient."""
    status = "\n\n".join([message_group, *groups])
    body = (
        f"This is MIME.\n--=_b\nContent-Type: text/plain\n\n{text}\n"
        f"--=_b\n{status_head}\n\n{status}\n\n"
        f"--=_b\nContent-Type: message/rfc822\n\n{COPY}\n--=_b--\n"
    )
    headers = {"Auto-Submitted": "auto-replied", "MIME-Version": "1.0", "Content-Type": kind}
    return mail(body, **(headers | fields))


def group(action: str = "failed", status: str = "5.1.1", diagnostic: str = "", **more: str) -> str:
    """Return the fields about one recipient."""
    fields = {"Final-Recipient": f"rfc822; {RCPT}", "Action": action, "Status": status}
    fields |= {"Diagnostic-Code": diagnostic} if diagnostic else {}
    fields |= {name.replace("_", "-"): value for name, value in more.items()}
    return "\n".join(f"{name}: {value}" for name, value in fields.items())


STANDARD = (
    Sample(
        "postfix",
        dsn(group(diagnostic="smtp; 550 5.1.1 <ann@inbox.test>: Recipient address\n    rejected")),
        *(550, 10, "5.1.1 <ann@inbox.test>: Recipient address rejected"),
    ),
    Sample(
        "a local delivery",
        dsn(group(diagnostic='X-Postfix; unknown user: "ann"')),
        *(550, 10, '5.1.1 unknown user: "ann"'),
    ),
    Sample(
        "an action that the standard does not have",
        dsn(group("error", diagnostic="smtp; 550 5.1.1 no such user")),
        *(550, 10, "5.1.1 no such user"),
    ),
    Sample(
        "exchange online",
        dsn(
            group(
                status="5.1.10",
                diagnostic="smtp;550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found",
            )
        ),
        *(550, 10, "5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found"),
    ),
    Sample("no diagnosis", dsn(group(status="5.2.2")), 550, 22, "5.2.2"),
    Sample(
        "a vague status beside a clear reply",
        dsn(group(status="5.0.0", diagnostic="smtp; 550 5.1.1 no such mailbox")),
        *(550, 10, "5.1.1 no such mailbox"),
    ),
    Sample(
        "a status without a code",
        dsn(group(status="5.4.7", diagnostic="smtp; 5.4.7 - Delivery expired (message too old)")),
        *(550, 24, "5.4.7 - Delivery expired (message too old)"),
    ),
    Sample(
        "given up after deferrals",
        dsn(group(status="4.1.1", diagnostic="smtp; 450 4.1.1 user unknown for now")),
        *(450, 70, "4.1.1 user unknown for now"),
    ),
    Sample(
        "a reply that is none of a refusal",
        dsn(group(diagnostic="smtp; 250 queued as 1234")),
        *(550, 10, "5.1.1 250 queued as 1234"),
    ),
    Sample(
        "a vague status, and the text says why",
        dsn(group(status="5.0.0"), text="<ann@inbox.test>:\nThe mailbox is full. (#5.2.2)"),
        *(550, 22, "5.2.2 The mailbox is full."),
    ),
    Sample(
        "in a mixed message",
        dsn(group(), kind='multipart/mixed; boundary="=_b"'),
        *(550, 10, "5.1.1"),
    ),
    Sample(
        "without a group about the message",
        dsn(message_group=group(), Subject="Undelivered"),
        *(550, 10, "5.1.1"),
    ),
    Sample(
        "an international one",
        dsn(
            group(Final_Recipient="utf-8; j\\x{FC}rgen@inbox.test"),
            status_head="Content-Type: message/global-delivery-status",
        ),
        *(550, 10, "5.1.1"),
    ),
    Sample(
        "encoded in base64",
        dsn(
            status_head="Content-Type: message/delivery-status\nContent-Transfer-Encoding: base64",
            message_group="UmVwb3J0aW5nLU1UQTogZG5zOyBteAoKRmluYWwtUmVjaXBpZW50OiByZmM4MjI7IGFAYgpB\n"
            "Y3Rpb246IGZhaWxlZApTdGF0dXM6IDUuMi4yCg==",
        ),
        *(550, 22, "5.2.2"),
    ),
    Sample(
        "two recipients, ours the second",
        dsn(
            group(status="5.2.2", Final_Recipient="rfc822; other@inbox.test"),
            group(
                Final_Recipient="rfc822; forwarded@far.test", Original_Recipient=f"rfc822;{RCPT}"
            ),
        ),
        *(550, 10, "5.1.1"),
    ),
    Sample(
        "groups between lines of blanks",
        dsn(
            group(status="5.2.2", Final_Recipient="rfc822; other@inbox.test") + "\n \t\n" + group()
        ),
        *(550, 10, "5.1.1"),
    ),
    Sample(
        "two recipients, ours an international one",
        dsn(
            group(status="5.2.2", Final_Recipient="rfc822; other@inbox.test"),
            group(Final_Recipient="utf-8; \\x{E4}nn@b\\x{FC}cher.test"),
            status_head="Content-Type: message/global-delivery-status",
        ),
        *(550, 10, "5.1.1"),
        rcpt="\xe4nn@xn--bcher-kva.test",
    ),
    Sample(
        "a diagnosis without its type",
        dsn(group(status="5.7.1", diagnostic="550 5.7.1 blocked; ask the list at bl.test")),
        *(550, 50, "5.7.1 blocked; ask the list"),
    ),
    Sample("another word for failed", dsn(group("Failure")), 550, 10, "5.1.1"),
    Sample("a comment on the action", dsn(group("failed (gave up)")), 550, 10, "5.1.1"),
    Sample(
        "forwarded to somebody else",
        dsn(group(Final_Recipient="rfc822; forwarded@far.test", status="5.2.2")),
        *(550, 22, "5.2.2"),
    ),
)

TEXTS = (
    Sample(
        "qmail",
        mail(
            "Hi. This is the qmail-send program at mx.inbox.test.\n"
            "I'm afraid I wasn't able to deliver your message to the following addresses.\n"
            "This is a permanent error; I've given up. Sorry it didn't work out.\n\n"
            "<ann@inbox.test>:\nSorry, no mailbox here by that name. (#5.1.1)\n\n"
            "--- Below this line is a copy of the message.\n\n" + COPY
        ),
        *(550, 10, "5.1.1 Sorry, no mailbox here by that name."),
    ),
    Sample(
        "qmail, told by another host",
        mail(
            "Hi. This is the qmail-send program.\n\n<ann@inbox.test>:\n192.0.2.1 does not like "
            "recipient.\nRemote host said: 550 5.7.1 Blocked by our block list\nGiving up on "
            "192.0.2.1.\n\n--- Below this line is a copy of the message.\n\n" + COPY
        ),
        *(550, 51, "5.7.1 Blocked by our block list Giving up on 192.0.2.1."),
    ),
    Sample(
        "exim",
        mail(
            "This message was created automatically by mail delivery software.\n\nA message that "
            "you sent could not be delivered to one or more of its\nrecipients. This is a "
            "permanent error. The following address(es) failed:\n\n  ann@inbox.test\n    host "
            "mx.inbox.test [192.0.2.1]\n    SMTP error from remote mail server after RCPT "
            "TO:<ann@inbox.test>:\n    550 5.1.1 Unknown recipient\n\n------ This is a copy of "
            "the message, including all the headers. ------\n\n" + COPY,
            sender="Mail Delivery System <Mailer-Daemon@mx.inbox.test>",
            Subject="Mail delivery failed: returning message to sender",
            X_Failed_Recipients=RCPT,
            Auto_Submitted="auto-replied",
        ),
        *(550, 10, "5.1.1 Unknown recipient"),
    ),
    Sample(
        "a cause below a greeting",
        mail(
            "    Hi!\n\n    This is the MAILER-DAEMON, please do not reply.\n\n    An error has "
            "occurred for these recipients:\n\nann@inbox.test: Envelope expired\n\n"
            "    Below is a copy of the original message:\n\n" + COPY,
            Subject="Delivery status notification: error",
        ),
        *(550, 24, "Envelope expired"),
    ),
    Sample(
        "a cause in none of the paragraphs",
        mail("    Hi!\n\n    It did not work.\n\n--- Below this line is a copy.\n\n" + COPY),
        *(550, 1, "It did not work."),
    ),
    Sample(
        "a sender of another spelling",
        mail(
            "Error: no such user\n\nRCPT TO: ann@inbox.test\n",
            sender="post_master@inbox.test",
            Subject="Re: Hello",
        ),
        *(550, 10, "Error: no such user"),
    ),
    Sample(
        "exim, without an enhanced code",
        mail(
            "A message that you sent could not be delivered.\n\n  ann@inbox.test\n    SMTP error "
            "from remote mail server after end of data:\n    552 mailbox is full\n",
            X_Failed_Recipients=RCPT,
        ),
        *(552, 22, "mailbox is full"),
    ),
    Sample(
        "old postfix",
        mail(
            "This is the Postfix program at host mx.inbox.test.\n\nI'm sorry to have to inform "
            "you that the message returned\nbelow could not be delivered.\n\n<ann@inbox.test>: "
            "host mx2.inbox.test[192.0.2.1] said: 550 5.1.1\n    User unknown (in reply to RCPT "
            "TO command)\n",
            Subject="Undelivered Mail Returned to Sender",
        ),
        *(550, 10, "5.1.1 User unknown (in reply to RCPT TO command)"),
    ),
    Sample(
        "sendmail",
        mail(
            "The original message was received now\n\n   ----- The following addresses had "
            "permanent fatal errors -----\n<ann@inbox.test>\n    (reason: 553 sorry, that domain "
            "isn't in my list of allowed rcpthosts)\n\n   ----- Transcript of session follows "
            "-----\n... while talking to mx.inbox.test.:\n",
            Subject="Returned mail: see transcript for details",
        ),
        *(553, 54, "sorry, that domain isn't in my list of allowed rcpthosts"),
    ),
    Sample(
        "old exchange",
        mail(
            "Your message\n\n  To: ann@inbox.test\n  Subject: Hello\n\ndid not reach the "
            "following recipient(s):\n\nann@inbox.test on Mon, 1 Jan 2024\n    The e-mail account "
            "does not exist at the organization\n    <mx.inbox.test #5.1.1>\n",
            sender="System Administrator <postmaster@inbox.test>",
            Subject="Undeliverable: Hello",
        ),
        *(550, 10, "5.1.1 "),
    ),
    Sample(
        "exchange in html",
        mail(
            "<html><body><p>Delivery has failed to these recipients:</p><a "
            'href="mailto:ann@inbox.test">Ann</a><p>Diagnostic information:</p><p>ann@inbox.test'
            "<br>#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##</p></body></html>",
            sender="Microsoft Outlook <postmaster@inbox.test>",
            Subject="Undeliverable: Hello",
            Content_Type="text/html",
        ),
        *(550, 10, "5.1.1 RESOLVER.ADR.RecipNotFound; not found"),
    ),
    Sample(
        "a blank text beside one in html",
        mail(
            "--=_b\nContent-Type: text/plain\n\n \n--=_b\nContent-Type: text/html\n\n"
            f"<p>550 5.2.2 The mailbox is full &#{'9' * 5000}; &lt;ann@inbox.test&gt;\n--=_b--\n",
            Content_Type='multipart/alternative; boundary="=_b"',
        ),
        *(550, 22, "5.2.2 The mailbox is full"),
    ),
    Sample(
        "gmail",
        mail(
            "Delivery to the following recipient failed permanently:\n\n     ann@inbox.test\n\n"
            "Technical details of permanent failure:\nGoogle tried to deliver your message, but "
            "it was rejected. The error that the other server returned was:\n550 550 5.2.1 The "
            "email account that you tried to reach is disabled (state 14).\n\n----- Original "
            "message -----\n\n" + COPY,
            sender="Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
            Subject="Delivery Status Notification (Failure)",
        ),
        *(550, 10, "5.2.1 The email account that you tried to reach is disabled (state 14)."),
    ),
    Sample(
        "yahoo",
        mail(
            "Sorry, we were unable to deliver your message to the following address.\n\n"
            "<ann@inbox.test>:\nRemote host said: 554 delivery error: dd This user doesn't have a "
            "inbox.test account (ann@inbox.test) [0] - mta1.inbox.test\n\n--- Below this line is "
            "a copy of the message.\n\n" + COPY
        ),
        *(554, 10, "delivery error: dd This user doesn't have a inbox.test account"),
    ),
    Sample(
        "a status and nothing else",
        mail("<ann@inbox.test>\nmailbox over quota, status=5.2.2.\n"),
        *(550, 22, "5.2.2 mailbox over quota"),
    ),
    Sample(
        "words only",
        mail("Message rejected.\n\nann@inbox.test\nuser unknown\n"),
        *(550, 10, "user unknown"),
    ),
    Sample("nothing to go by", mail("Sorry!\n"), 550, 1, "Sorry!"),
    Sample("nothing at all", mail(""), 550, 40, ""),
    Sample(
        "known by its subject",
        mail("550 5.1.1 user unknown", sender="gateway@inbox.test", Subject="Undeliverable: x"),
        *(550, 10, "5.1.1 user unknown"),
    ),
)

DELAYS = (
    dsn(group("delayed", "4.4.1", "smtp; 450 4.4.1 try later")),
    dsn(group("relayed", "2.0.0")),
    dsn(group("delivered", "2.1.5")),
    dsn(group("expanded", "2.0.0")),
    dsn(group("", "2.1.5")),
    dsn(group("delivered", "2.1.5"), group(Final_Recipient="rfc822; other@inbox.test")),
    mail(
        "A message that you sent has not yet been delivered after more than 24 hours.\n\nNo "
        "action is required on your part. Delivery attempts will continue.\n550 5.1.1\n",
        Subject="Warning: message 1abc delayed 24 hours",
        X_Failed_Recipients=RCPT,
    ),
    mail("THIS IS A WARNING MESSAGE ONLY\nYOU DO NOT NEED TO RESEND\n450 4.4.1 later\n"),
    mail("This is only a temporary failure. The message is kept in the queue for 4 days.\n"),
    mail("It has been delayed.", Subject="Delivery Status Notification (Delay)"),
)

AUTOMATIC = (
    mail("I am away.", sender="ann@inbox.test", Subject="Re: Hello", Auto_Submitted="auto-replied"),
    mail(
        "I am away.", sender="ann@inbox.test", Subject="Hello", Auto_Submitted="auto-generated; x"
    ),
    mail("I am away.", sender="ann@inbox.test", Subject="Re: Hello", X_Autoreply="yes"),
    mail("I am away.", sender="ann@inbox.test", Subject="Re: Hello", X_Autorespond="Re: Hello"),
    mail("I am away.", sender="ann@inbox.test", Subject="Re: Hello", Precedence="auto_reply"),
    mail("I am away.", sender="ann@inbox.test", Subject="Re: Hello", Precedence="junk"),
    mail("user unknown", sender="ann@inbox.test", Subject="Re: Hello", Precedence="bulk"),
    mail("Bis Montag.", sender="ann@inbox.test", Subject="Automatic reply: Hello"),
    mail("Lundi.", sender="a@i.test", Subject="=?utf-8?Q?R=C3=A9ponse_automatique_=3A_x?="),
    mail("x", sender="a@i.test", Subject="=?utf-8?B?6Ieq5Yqo5Zue5aSNOiBIZWxsbw==?="),
    mail("x", sender="a@i.test", Subject="Odpowied\u017a automatyczna: Hello"),
    mail("x", sender="a@i.test", Subject="Automatisk svar: Hello"),
    mail("550 5.1.1 user unknown", sender="postmaster@inbox.test", Subject="Out of Office: Hello"),
    mail("I am out of the office.", sender="ann@inbox.test", Subject="Re: Hello"),
    mail(
        "I am out of the office. You wrote: delivery failed, user unknown",
        sender="ann@inbox.test",
        Subject="Undelivered parcels",
        Auto_Submitted="auto-replied",
    ),
)

#: Automatic replies whose own address is the postmaster's, or looks like it
AUTOMATIC_POSTMASTERS = (
    mail(
        "I am away. My last mail came back with 550 5.1.1 User unknown.",
        sender="PostMaster Versand GmbH <info@postmaster.test>",
        Subject="Re: Order",
        Auto_Submitted="auto-generated (vacation)",
    ),
    mail(
        "I am away. My last mail came back with 550 5.1.1 User unknown.",
        sender="postmaster@inbox.test",
        Subject="Re: Order",
        Auto_Submitted="auto-replied",
    ),
    mail(
        "I am away. My last mail came back with 550 5.1.1 User unknown.",
        sender="postmaster@inbox.test",
        Subject="My holidays",
        Auto_Submitted="auto-replied",
    ),
    mail(
        "ann@inbox.test is away. My mail came back with 550 5.1.1 User unknown.",
        sender="postmaster@inbox.test",
        Subject="Order",
        X_Auto_Response_Suppress="All",
    ),
    mail(
        "Away. You wrote: 550 5.1.1 User unknown.",
        sender="Ann <ANN@inbox.test>",
        Subject="Mail delivery failed",
        Precedence="bulk",
    ),
    mail(
        "ann@inbox.test: 550 5.1.1 User unknown.",
        sender="MAILER-DAEMON@inbox.test",
        Subject="Undeliverable: Order",
        X_Autoreply="yes",
    ),
)

#: Answers of people who quote replies of hosts; each with its envelope sender
PEOPLE_WITH_QUOTATIONS = (
    (
        mail(
            "My last mail to you came back with 550 5.1.1 User unknown.",
            sender="PostMaster Versand GmbH <info@postmaster.test>",
            Subject="Re: Order",
        ),
        "info@postmaster.test",
    ),
    (
        mail(
            "My last mail to you came back with 550 5.1.1 User unknown.",
            sender="Postmaster <info@firm.test>",
            Subject="Delivery problem",
        ),
        "info@firm.test",
    ),
    (
        mail(
            "Mail to ann@inbox.test comes back with 550 5.1.1 User unknown.",
            sender="postmaster@inbox.test",
            Subject="AW: Order",
        ),
        "postmaster@inbox.test",
    ),
    (
        mail(
            "Mail to ann@inbox.test comes back with 550 5.1.1 User unknown.",
            sender="postmaster@inbox.test",
            Subject="A question",
        ),
        "postmaster@inbox.test",
    ),
    (
        mail(
            "550 5.1.1 User unknown.",
            sender="Ann <ann@inbox.test>",
            Subject="Undeliverable: Order",
        ),
        "",
    ),
)

PEOPLE = (
    mail("Thank you!", sender="ann@inbox.test", Subject="Re: Hello"),
    mail("user unknown 550 5.1.1", sender="ann@inbox.test", Subject="Re: Undelivered Mail"),
    mail("Thank you!", sender="ann@inbox.test", Subject="Re: Hello", Auto_Submitted="no"),
    "",
)


def arf(
    *fields: str,
    original: str = COPY,
    original_type: str = "message/rfc822",
    sender: str = "Abuse Desk <feedback@inbox.test>",
) -> str:
    """Return a report of a feedback loop with these fields."""
    report_fields = "\n".join(["User-Agent: Loop/1.0", "Version: 1", *fields])
    body = (
        "--=_b\nContent-Type: text/plain\n\nThis is an abuse report.\n"
        f"--=_b\nContent-Type: message/feedback-report\n\n{report_fields}\n\n"
        f"--=_b\nContent-Type: {original_type}\n\n{original}\n--=_b--\n"
    )
    kind = 'multipart/report; report-type=feedback-report; boundary="=_b"'
    return mail(body, sender=sender, Subject="complaint", Content_Type=kind)
