"""Obey the MTA-STS policies of recipients' domains (RFC 8461).

A domain's policy names its mail hosts and says that they offer TLS with a valid certificate. It is
announced in the DNS, fetched over HTTPS, and kept in DynamoDB for all delivery processes, because a
policy that was seen once protects mail even while somebody suppresses the announcement.
"""
