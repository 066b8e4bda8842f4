"""Settings of I/O libraries: what a file of them says, what processes read of it, which are alive on this machine."""
