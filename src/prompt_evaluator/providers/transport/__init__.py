"""HTTP/1.1 transport."""
