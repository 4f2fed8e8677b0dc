"""Runs units of work and aggregates their results. Uses ports only: no disk, network or clock of its own."""
