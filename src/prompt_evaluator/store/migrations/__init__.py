"""Revisions of the store's tables."""
