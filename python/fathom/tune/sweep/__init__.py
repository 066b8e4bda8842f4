"""Many runs of one plan: a TOML file says what is varied, each combination is recorded once per repetition."""
