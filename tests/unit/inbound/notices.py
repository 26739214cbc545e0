"""Notices that quote the message which they return, in the ways of many hosts; all are invented."""

from __future__ import annotations

from typing import NamedTuple

from tests.unit.inbound.samples import RCPT, dsn, group, mail

#: The subject and the text of the original message; neither says anything about the recipient
SUBJECT = "Ticket 12: how to fix 550 5.1.1 user unknown on your server"
BODY = "Our customer gets this reply:\n\n    550 5.1.1 user unknown\n"
HEADER = f"""\
Received: from a.test by b.test; Mon, 2 Mar 2026 10:00:00 +0000
From: Shop <shop@example.test>
To: {RCPT}
Subject: {SUBJECT}
Date: Mon, 2 Mar 2026 10:00:00 +0000
Message-ID: <1@example.test>
"""
COPY = f"{HEADER}\n{BODY}"
FULL = f"The message to {RCPT} could not be stored.\n\nReason: the mailbox is full.\n\n"
UNKNOWN_CAUSE = f"The message to {RCPT} did not arrive, dear sender.\n\n"

#: What hosts and mail clients write above a copy
HEADINGS = (
    *("----- Original message -----", "Original Message:", "bounced E-Mail:", "Returned message"),
    *("--- Below this line is a copy of the message.", "------ This is a copy of your message."),
    *("The headers of the original message are following.", "Begin forwarded message:"),
    *("-----Ursprüngliche Nachricht-----", "Originalnachricht:", "Kopie der Nachricht:"),
    *(
        "----- Message d'origine -----",
        "Message original :",
        "Mensaje original",
        "Copia del mensaje:",
    ),
    *("Messaggio originale:", "----- Mensagem original -----", "--- Oorspronkelijk bericht ---"),
    *("-----Oryginalna wiadomość-----", "Původní zpráva:", "Eredeti üzenet", "Mesajul original:"),
    *("Ursprungligt meddelande:", "Oprindelig meddelelse:", "Alkuperäinen viesti:"),
    *("----- Исходное сообщение -----", "Вихідне повідомлення:", "Αρχικό μήνυμα:"),
    *("-----Orijinal İleti-----", "الرسالة الأصلية:", "----- הודעה מקורית -----", "ข้อความต้นฉบับ"),
    *(
        "----- 元のメッセージ -----",
        "---- 原文 ----",
        "------------------ 原始邮件 ------------------",
    ),
    *("---------- 원본 메일 ----------", "-- Pesan asli --", "ორიგინალი შეტყობინება:", "Thư gốc:"),
    *("On Mon, 2 Mar 2026 at 10:00, Shop wrote:", "Am 2.3.2026 um 10:00 schrieb Shop:"),
)

#: Ways to quote the message after the notice's own words
QUOTATIONS = {
    "its header": COPY,
    "its header after a rule": f"----------\n{COPY}",
    "a part of its header": f"Subject: {SUBJECT}\nFrom: shop@example.test\n\n{BODY}",
    "folded fields": f"From: shop@example.test\nSubject: Ticket 12:\n 550 5.1.1 no user\n\n{BODY}",
    "fields in German": f"Von: Shop\nGesendet: gestern\nAn: Ann\nBetreff: {SUBJECT}\n\n{BODY}",
    "fields in Japanese": f"差出人：Shop\n宛先：Ann\n件名：{SUBJECT}\n\n{BODY}",
    "fields in bold type": f"*From:* Shop\n*Sent:* today\n*Subject:* {SUBJECT}\n\n{BODY}",
    "its subject alone": f"Subject: {SUBJECT}\n",
    "lines with marks": "".join(f"> {line}\n" for line in COPY.splitlines()),
    "its subject in a sentence": f'This is about "{SUBJECT}".\n',
}


class Notice(NamedTuple):
    """A notice with the class that its own words give, and the beginning of its reason."""

    name: str
    message: str
    bounce_class: int
    reply: str


def notice(text: str, **fields: str) -> str:
    """Return a notice of a mail host with one text part."""
    return mail(
        text, **({"Subject": "Notice about your mail", "Auto-Submitted": "auto-replied"} | fields)
    )


def parts(*contents: str, kind: str = "mixed", **fields: str) -> str:
    """Return a notice with these parts, each with its header."""
    body = "".join(f"--=_b\n{content}\n" for content in contents) + "--=_b--\n"
    return mail(body, Content_Type=f'multipart/{kind}; boundary="=_b"', **fields)


def html(markup: str) -> str:
    """Return a notice in HTML alone."""
    return mail(
        f"<html><head><title>{SUBJECT}</title></head><body>{markup}</body></html>",
        Content_Type="text/html; charset=utf-8",
    )


def _inner(message: str) -> str:
    """Return a message that can be a part of another one."""
    return message.replace("=_b", "=_inner")


PLAIN = f"Content-Type: text/plain\n\n{FULL}"
ORIGINAL = f"Content-Type: message/rfc822\n\n{COPY}"

NOTICES = (
    Notice(
        "qmail",
        mail(
            "Hi. This is the qmail-send program at mx.inbox.test.\nI'm afraid I wasn't able to "
            "deliver your message to the following addresses.\nThis is a permanent error; I've "
            f"given up. Sorry it didn't work out.\n\n<{RCPT}>:\nuser is over quota\n\n"
            f"--- Below this line is a copy of the message.\n\nReturn-Path: <b@x.test>\n{COPY}"
        ),
        *(22, "user is over quota"),
    ),
    Notice(
        "qmail with a reason that nobody knows",
        mail(
            "Hi. This is the qmail-send program at mx.inbox.test.\nI'm afraid I wasn't able to "
            f"deliver your message.\n\n<{RCPT}>:\nThe blue door is shut.\n\n"
            f"--- Below this line is a copy of the message.\n\n{COPY}"
        ),
        *(1, "The blue door is shut."),
    ),
    Notice(
        "exim",
        mail(
            "This message was created automatically by mail delivery software.\n\nA message that "
            "you sent could not be delivered to one or more of its\nrecipients. The following "
            f"address(es) failed:\n\n  {RCPT}\n    retry timeout exceeded\n\n"
            f"------ This is a copy of your message, including all the headers. ------\n\n{COPY}",
            X_Failed_Recipients=RCPT,
        ),
        *(24, "retry timeout exceeded"),
    ),
    Notice(
        "web.de and GMX",
        mail(
            "This message was created automatically by mail delivery software.\n\nA message that "
            "you sent could not be delivered to one or more of\nits recipients. This is a "
            f'permanent error. The following address\nfailed:\n\n"{RCPT}":\nSMTP error from '
            "remote server after RCPT command:\nhost: mx.inbox.test\n5.2.2 Mailbox full\n\n\n"
            f"--- The header of the original message is following. ---\n\n{COPY}",
            sender="Mail Delivery System <mailer-daemon@kundenserver.test>",
        ),
        *(22, "5.2.2 "),
    ),
    Notice(
        "old Exchange",
        mail(
            f"Your message\n\n  To:      {RCPT}\n  Subject: {SUBJECT}\n  Sent:    Mon, 2 Mar 2026"
            f"\n\ndid not reach the following recipient(s):\n\n{RCPT} on Mon, 2 Mar 2026\n    The "
            "recipient's mailbox is full\n    MSEXCH:IMS:A:B:C\n",
            sender="System Administrator <postmaster@inbox.test>",
            Subject=f"Undeliverable: {SUBJECT}",
        ),
        *(22, f"{RCPT} on Mon, 2 Mar 2026 The recipient's mailbox is full"),
    ),
    Notice(
        "Office 365 in German",
        parts(
            "Content-Type: text/html; charset=utf-8\n\n<p>Ihre Nachricht an ann konnte nicht "
            f"zugestellt werden.</p><p>Das Postfach ist voll.</p><blockquote>{BODY}</blockquote>"
            f"<p>Originalnachrichtenheader:</p><pre>{HEADER}</pre>",
            ORIGINAL,
            sender="Microsoft Outlook <postmaster@inbox.test>",
            Subject=f"Unzustellbar: {SUBJECT}",
        ),
        *(22, "Das Postfach ist voll."),
    ),
    Notice(
        "Domino",
        mail(
            f"Your message\n\n  Subject: {SUBJECT}\n\nwas not delivered to:\n\n  {RCPT}\n\nbecause:"
            "\n\n  Message size exceeds the limit\n",
            sender="Postmaster@inbox.test",
            Subject="DELIVERY FAILURE: Message size",
        ),
        *(23, "Message size exceeds the limit"),
    ),
    Notice(
        "GroupWise",
        mail(
            f"The message that you sent was undeliverable to the following:\n\t{RCPT} (mailbox is "
            f"full)\n\nPossibly truncated original message follows:\n\n{COPY}",
            sender="Mailer-Daemon@inbox.test",
            Subject="Message status - undeliverable",
        ),
        *(22, "The message that you sent was undeliverable"),
    ),
    Notice(
        "Yahoo",
        mail(
            f"Sorry, we were unable to deliver your message to the following address.\n\n<{RCPT}>:"
            "\nThis account is over quota.\n\n--- Below this line is a copy of the message.\n\n"
            + COPY
        ),
        *(22, "This account is over quota."),
    ),
    Notice(
        "Zoho",
        parts(
            "Content-Type: text/plain\n\nThis message was created automatically by mail delivery "
            "software.\nA message that you sent could not be delivered to one or more of its "
            f"recipients. This is a permanent error. \n\n{RCPT} Invalid message, ERROR_CODE :552, "
            f"ERROR_CODE :5.2.2 Mailbox Full\n\n\nReceived:from mail.zoho.test by x.test\n{COPY}",
            sender="mailer-daemon@mail.zoho.test",
        ),
        *(22, "5.2.2 "),
    ),
    Notice(
        "ezweb",
        mail(
            f"<{RCPT}>\n\nEach of the following recipients was rejected by a remote mail server.\n"
            f"Message size exceeds maximum value.\n-----------\n{COPY}",
            sender="<Postmaster@ezweb.test>",
            Subject="Mail System Error - Returned Mail",
        ),
        *(23, "Each of the following"),
    ),
    Notice(
        "iCloud",
        mail(
            f"This message is generated by iCloud.\n\nThe user {RCPT} has exceeded the storage "
            f"quota.\n\n{COPY}",
            sender="Mail Delivery System <noreply@icloud.test>",
        ),
        *(22, f"The user {RCPT}"),
    ),
    Notice(
        "an attached header",
        parts(PLAIN, f"Content-Type: text/rfc822-headers\n\n{HEADER}"),
        *(22, "Reason: the mailbox is full."),
    ),
    Notice(
        "an attachment before the words",
        parts(
            "Content-Type: text/plain\nContent-Disposition: attachment; filename=original.txt\n\n"
            + BODY,
            PLAIN,
        ),
        *(22, "Reason: the mailbox is full."),
    ),
    Notice("the original first", parts(ORIGINAL, PLAIN), 22, "Reason: the mailbox is full."),
    Notice(
        "HTML alone",
        html(
            f"<!-- 550 5.1.1 user unknown --><style>p {{ margin: 0 }}</style><p>To: {RCPT}</p>"
            f"<p>The <b>mailbox</b>\nis full.</p><hr><div>From: Shop</div><div>Subject: {SUBJECT}"
            f"</div><div>{BODY}</div>"
        ),
        *(22, "The mailbox is full."),
    ),
    Notice(
        "HTML with a quotation",
        html(f"<p>Mailbox full</p><blockquote><blockquote>a</blockquote>{BODY}</blockquote>"),
        *(22, "Mailbox full"),
    ),
    Notice(
        "a diagnosis that quotes the subject",
        dsn(group(status="5.7.1", diagnostic=f"smtp; 550 5.7.1 Subject: {SUBJECT}")),
        *(50, "5.7.1 Subject: Ticket 12"),
    ),
    Notice(
        "a vague status, and words with a copy",
        dsn(group(status="5.0.0"), text=f"{FULL}\n{COPY}"),
        *(22, "Reason: the mailbox is full."),
    ),
    Notice(
        "a notification that another host forwards",
        parts(
            "Content-Type: text/plain\n\nA filter removed the reason.",
            "Content-Type: message/rfc822\n\n" + _inner(dsn(group(status="5.2.2"))),
        ),
        *(22, "5.2.2"),
    ),
    Notice(
        "a notification about somebody else that a message carried",
        parts(
            "Content-Type: text/plain\n\nThe mailbox is full.",
            "Content-Type: message/rfc822\n\n"
            + _inner(dsn(group(Final_Recipient="rfc822; bob@far.test"))),
        ),
        *(22, "The mailbox is full."),
    ),
    Notice(
        "a boundary that was changed on the way",
        dsn(group(status="5.2.2"), kind='multipart/report; boundary="=_changed"'),
        *(22, "5.2.2"),
    ),
)
