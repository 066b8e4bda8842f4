"""Recording programs that run already: which processes, how Fathom is brought in and taken out, what the run says."""
