"""The release harness's own files: configurations in, results and history out."""
