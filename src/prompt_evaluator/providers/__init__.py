"""Every model behind one door."""
