"""Pages as files, to be opened without a server."""
