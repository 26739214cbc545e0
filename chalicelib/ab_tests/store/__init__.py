"""Keep A/B tests: their versions, the remaining places of their samples, and their counts."""
