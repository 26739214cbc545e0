"""From an accepted transmission to signed messages: headers, MIME, pre-built messages, DKIM."""
