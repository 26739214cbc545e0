"""The suppression list: who must not receive which kind of message. Spec 2.9 and 4.8."""
