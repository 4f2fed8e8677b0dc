"""Human labels of answers: read from files, checked, and written to files."""
