"""Stores of users and of their sessions."""
