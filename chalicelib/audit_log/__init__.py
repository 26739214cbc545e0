"""The audit log: who changed what, as a list that can be filtered and as CSV."""
