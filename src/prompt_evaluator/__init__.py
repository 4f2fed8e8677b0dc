"""Tells a team whether a prompt or a model is good, stable and safe to release."""

__version__ = "0.1.0"
