"""Runs items in the worker processes of a Ray cluster (extra `ray`)."""
