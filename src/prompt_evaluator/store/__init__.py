"""Where runs live: the durable ledger of what was asked for and what has been finished."""

from prompt_evaluator.ports import StoredCase
from prompt_evaluator.store.ledger import Store
from prompt_evaluator.store.writer import LedgerWriter

__all__ = ["LedgerWriter", "Store", "StoredCase"]
