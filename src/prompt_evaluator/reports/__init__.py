"""Findings about runs and cases, as data. Callers render them."""
