"""Providers: model services, functions and programs behind one call policy."""
