"""Forwarding servers: what a configuration says of them (`settings`), where they run and how they are (`group`)."""
