"""Generate signed messages from accepted transmissions: merge, render, track, compose, sign."""
