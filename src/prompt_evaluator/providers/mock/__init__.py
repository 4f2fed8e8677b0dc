"""The offline stand-in for a model and a judge."""
