"""Anything that turns a case and an answer into a score with a reason."""
