"""What large mail hosts require of a sending domain and of sending IPs, and what is still unmet."""
