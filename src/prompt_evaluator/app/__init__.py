"""Use cases: what a person can ask of the product, whichever policy the question comes through."""
