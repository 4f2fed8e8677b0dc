"""Migrations from stores of earlier versions."""
