"""How every call is made, whoever answers: limits, tries, budget, breaker and accounting."""
