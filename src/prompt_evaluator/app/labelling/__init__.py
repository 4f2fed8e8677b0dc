"""What people say about answers: read from files, checked, written to files."""
