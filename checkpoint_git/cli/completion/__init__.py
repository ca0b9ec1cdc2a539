"""What a shell may complete: verbs, options, and the names of what is there. It runs no verb."""
