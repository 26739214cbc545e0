"""Templates: content stored under an id, as a draft and as a published version. Spec 2.3, 4.2."""
