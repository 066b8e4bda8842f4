"""The search for the best settings: what may be set, what to try next, trials, what was found."""
