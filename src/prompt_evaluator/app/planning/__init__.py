"""From what somebody asked for to a plan."""
