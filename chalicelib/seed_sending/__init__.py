"""Send copies of a campaign's messages to seed addresses. Spec 2.12."""
