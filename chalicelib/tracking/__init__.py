"""Put tracked links, open pixels and unsubscribe links into messages, and answer them.

Spec 2.1 (``open_tracking``, ``click_tracking``, ``initial_open``) and 2.11.
"""
