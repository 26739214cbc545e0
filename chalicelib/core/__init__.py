"""The lowest band: toolkits that every feature uses and that know nothing of any feature."""
