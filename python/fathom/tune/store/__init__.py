"""The pattern store: which settings were best for which access pattern, on which stack and machine."""
