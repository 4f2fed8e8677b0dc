"""A store for commands that look after it: with everything it can do, and also copied and checked."""

from __future__ import annotations

from prompt_evaluator.store.checking import Checking
from prompt_evaluator.store.copying import Copying
from prompt_evaluator.store.ledger import Store


class UpkeepStore(Store, Copying, Checking):
    """Separate from `Store`, which runs and queries use."""
