"""Plan, execute one unit, aggregate. Knows ports, not implementations; touches no disk, network or clock."""
