"""Other people's code: functions found by name, programs run as processes, and which version of them this is."""
