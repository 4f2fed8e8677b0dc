"""One module per wire format: from a request to a body, and from a reply to an answer."""
