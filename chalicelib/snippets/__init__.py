"""Snippets: reusable fragments that templates and transmissions bring in. Spec 2.4, 4.3."""
