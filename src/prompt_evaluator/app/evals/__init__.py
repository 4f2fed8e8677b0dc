"""The release harness: runs its tasks with its configurations, on the same engine as every evaluation."""
