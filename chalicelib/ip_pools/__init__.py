"""IP pools: named groups of sending IPs, and the way out of the service that each stands for.

Spec 2.8 and 4.7. ``routing`` tells delivery by which IP a message leaves, ``warmup`` how much a new
one may send, ``signing`` which further DKIM keys a pool brings.
"""
