"""Other tools: their logs as runs (`imports`), runs in their formats (`exports`)."""
