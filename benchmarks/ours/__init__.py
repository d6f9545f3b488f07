"""Our answers to the cases and sweeps, by subject."""
