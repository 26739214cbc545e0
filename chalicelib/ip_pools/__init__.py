"""The resources ``/ip-pools`` and ``/sending-ips``. Spec 2.8 and 4.7."""
