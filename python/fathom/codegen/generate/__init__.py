"""Parallel I/O code from hints: language, spec, analysis, optimise, plan, emit, splice, in this order."""
