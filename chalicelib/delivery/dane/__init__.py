"""Authenticate mail hosts by the TLSA records of signed zones (DANE, RFC 7672)."""
