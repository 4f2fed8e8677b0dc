"""Engines that run work items."""
