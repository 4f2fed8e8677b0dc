"""Workers in other processes: what they are made from, and what they share through the driver."""
