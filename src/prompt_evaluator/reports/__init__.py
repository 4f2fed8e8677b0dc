"""What to say about a run, as data. Drawing it is for whoever shows it."""
