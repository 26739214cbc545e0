"""Judge received messages: SPF, DKIM, DMARC, ARC, spam and viruses."""
