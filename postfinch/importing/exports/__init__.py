"""Read what other services export: suppression lists and templates, as files of their own form."""
