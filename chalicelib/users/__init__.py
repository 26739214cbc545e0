"""Users of an account: their roles, sessions and the ways in which they sign in."""
