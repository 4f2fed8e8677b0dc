"""Every model behind one policy."""
