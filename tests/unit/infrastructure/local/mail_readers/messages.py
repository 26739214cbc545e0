"""Messages that mail readers are tried with."""

PLAIN = (
    b"From: Ann <ann@a.test>\r\nTo: you@b.test\r\nSubject: Hello\r\n"
    b"Date: Mon, 2 Nov 2026 10:00:00 +0100\r\nMessage-ID: <1@a.test>\r\n\r\n"
    b"Dear you,\r\n.\r\n..two\r\nBye\r\n"
)
ENCODED = (
    "From: =?utf-8?q?J=C3=BCrgen?= <j@a.test>\r\nTo: Kim <kim@b.test>, lee@b.test\r\n"
    "Cc: team: x@b.test, y@b.test;\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n"
    "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    "Schöne Straße\r\n"
).encode()
#: A text in two forms, a picture, and a message with an attachment of its own
MIXED = (
    b"From: ann@a.test\r\nTo: you@b.test\r\nSubject: Parts\r\n"
    b'Content-Type: multipart/mixed; boundary="out"\r\n\r\n'
    b"Preamble\r\n"
    b'--out\r\nContent-Type: multipart/alternative; boundary="in"\r\n\r\n'
    b"--in\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nText one\r\n"
    b"--in\r\nContent-Type: text/html; charset=utf-8\r\n"
    b"Content-Transfer-Encoding: quoted-printable\r\n\r\n<p>Caf=C3=A9</p>\r\n"
    b"--in--\r\n"
    b"--out\r\nContent-Type: image/png; name=dot.png\r\nContent-Transfer-Encoding: base64\r\n"
    b'Content-Disposition: attachment; filename="dot \\"1\\".png"\r\nContent-ID: <dot@a.test>\r\n'
    b"\r\niVBORw0KGgo=\r\n"
    b"--out\r\nContent-Type: message/rfc822\r\n\r\n"
    b"From: bob@c.test\r\nSubject: Inside\r\n"
    b'Content-Type: multipart/mixed; boundary="deep"\r\n\r\n'
    b"--deep\r\n\r\nDeep text\r\n"
    b"--deep\r\nContent-Type: application/pdf\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n"
    b"--deep--\r\n"
    b"--out--\r\nEpilogue\r\n"
)
