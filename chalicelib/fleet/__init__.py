"""An account's IP pools and sending IPs, and how mail leaves by them. Spec 2.8.

``routing`` chooses the IP that a message leaves by, ``warmup`` limits what a new IP sends, and
``signing`` finds the further DKIM keys of a pool. The HTTP resource is ``chalicelib.ip_pools``.
"""
