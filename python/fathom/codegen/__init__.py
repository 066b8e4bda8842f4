"""Code that Fathom writes: from hints (`generate`), hints from runs and files, replays of a run."""
