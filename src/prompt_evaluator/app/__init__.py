"""Use cases: what a person can ask of the product, whichever door the question comes through."""
