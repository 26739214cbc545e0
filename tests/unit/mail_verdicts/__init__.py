"""Tests of ``chalicelib/mail_verdicts``."""
