"""Automatic inline seeding: copies of campaign messages go to seed addresses (spec 2.12, 4.12)."""
