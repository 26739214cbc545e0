"""The suppression list: recipients that must not get some kinds of messages. Spec 2.9 and 4.8."""
