"""The HTTP API and the pages: a route parses a request, calls one use case and answers."""
