"""User code: functions found by name, programs run as processes, and fingerprints of both."""
