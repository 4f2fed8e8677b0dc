"""The store: a durable ledger of runs and their finished work."""

from prompt_evaluator.store.ledger import Store, StoredCase
from prompt_evaluator.store.writer import LedgerWriter

__all__ = ["LedgerWriter", "Store", "StoredCase"]
