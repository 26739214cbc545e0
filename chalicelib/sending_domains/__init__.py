"""Sending domains: their DKIM keys and signatures, and the DNS records that verify them."""
