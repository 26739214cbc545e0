"""Band 0: what every feature stands on, and nothing about any feature."""
