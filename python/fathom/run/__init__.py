"""A recorded run: its directory, manifest, tables and processes; what the machine has to record and read one."""
