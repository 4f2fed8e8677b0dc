"""Use cases that only a server has: runs that are asked for now and made by a worker later."""
