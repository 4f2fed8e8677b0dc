"""Strict parsers for files that people write: plain values with line numbers, or an error that says what and where."""
