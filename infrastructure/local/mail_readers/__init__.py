"""Serve the mailbox to mail readers, by POP3 and by IMAP.

Both are companions of the HTTP server. What they need is imported when the first client connects.
"""
