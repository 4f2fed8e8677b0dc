"""The policy of all calls: who may go when, what it may cost, and what follows a failure."""
