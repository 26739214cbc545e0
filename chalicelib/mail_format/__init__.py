"""Band 0: what a mail message is made of (RFC 5322, 2045, 2047, 2231), fast and pure."""
