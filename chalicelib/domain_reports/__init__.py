"""What other mail hosts report about a sending domain: DMARC and TLS reports that come by mail."""
