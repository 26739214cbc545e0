"""Take any mail by SMTP and keep it in the mailbox, as programs expect that know Mailpit.

The session is the relay's; what it asks for, and what becomes of a message, is decided here.
"""
