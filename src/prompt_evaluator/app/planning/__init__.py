"""Makes a plan from the options of a run."""
