"""Keep A/B tests: their versions, what is left of their samples, and their counts."""
