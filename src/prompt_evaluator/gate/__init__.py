"""Decides whether a run may be released: statistics and a policy become a verdict."""
