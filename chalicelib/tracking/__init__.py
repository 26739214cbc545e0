"""Tracking: links, open pixels and unsubscribe links put into messages, and what they report back.

Spec 2.1 (``open_tracking``, ``click_tracking``, ``initial_open``) and 2.11.
"""
