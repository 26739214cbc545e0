"""A/B tests: templates under one id, compared by engagement; the best one is kept. Spec 2.2."""
