"""The stores of accounts and of what they have used of their plans."""
