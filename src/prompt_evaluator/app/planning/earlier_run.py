"""Selects cases by how they fared in an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.query import CaseQuery

if TYPE_CHECKING:
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model.options import EvaluateOptions

_WORDS = {"failing": "is failing", "flaky": "is flaky", "errors": "has errors"}


def with_earlier_run(options: EvaluateOptions, session: Session) -> EvaluateOptions:
    """Resolve `only` and `of` to case ids, and `of` to the run's full id.

    Raises:
        ConfigurationError: One of the two is missing, the run does not exist, or it has no such case.
    """
    if options.only is None and options.of is None:
        return options
    if options.only is None or options.of is None:
        given, missing = ("--of", "--only failing, flaky or errors") if options.only is None else ("--only", "--of RUN")
        raise ConfigurationError(f"{given} needs {missing}: together they select cases of an earlier run.")
    run_id = session.store.full_id(options.of)
    ids = session.store.matching_ids(msgspec.structs.replace(CaseQuery(run_id=run_id), **{options.only: True}))
    if not ids:
        raise ConfigurationError(f"No case of run {run_id} {_WORDS[options.only]}, so there is nothing to evaluate.")
    return msgspec.structs.replace(options, of=run_id, among=frozenset(ids))
