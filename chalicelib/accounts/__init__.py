"""Accounts, which send mail within the limits of their plans. Spec 2.7 and 4.6."""
