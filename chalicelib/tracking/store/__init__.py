"""Keep the message context, which completes events that come after delivery."""
