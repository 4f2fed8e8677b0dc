"""The mock provider: an offline model and judge."""
