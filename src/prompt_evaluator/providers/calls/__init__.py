"""How every call is made, for any provider: limits, tries, budget, breaker and accounting."""
