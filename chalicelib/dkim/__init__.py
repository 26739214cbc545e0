"""DKIM (RFC 6376): sign messages, handle key pairs, and judge the DNS records of keys."""
