"""Two runs in, a comparison out: what differs, by how much, and how certain that is."""
