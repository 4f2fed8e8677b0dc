"""Loads the cases of a run in batches, each with its finished units from this run and others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Generation
from prompt_evaluator.pipeline.case_work import CaseWork

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import Answer, RunPlan, TestCase, Unit
    from prompt_evaluator.pipeline.execute import Executor
    from prompt_evaluator.store import Store

BATCH = 256
"""How many cases are read from the store at a time."""

_Linked = dict[int, list["Unit"]]
"""Units by sample."""
_Rivals = dict[int, "Answer"]
"""A baseline's answers by sample."""
_generation = msgspec.json.Decoder(Generation).decode


class LoadedCase(NamedTuple):
    """A case, and units of other runs that it can reuse."""

    work: CaseWork
    linked: _Linked


class Loader:
    """Reads cases in file order."""

    def __init__(self, store: Store, executor: Executor) -> None:
        self._store, self._executor, self._plan = store, executor, executor.plan
        self._source = executor.plan.parent_run_id
        """The run whose answers are judged, if any."""
        self._position = 0

    def next(self) -> list[LoadedCase]:
        """Return the next batch; empty at the end."""
        plan, store = self._plan, self._store
        stored = store.cases(plan.run_id, start=self._position, limit=BATCH)
        if not stored:
            return []
        self._position = stored[-1].position + 1
        ids = [item.case.id for item in stored]
        own = store.units(plan.run_id, ids)
        rivals = _rivals(store, plan, ids)
        linked = self._linked([item.case for item in stored], ids, rivals)
        loaded = []
        for position, case in stored:
            work = CaseWork(position, case, own[case.id], plan)
            work.rivals = rivals.get(case.id, {})
            # Only the worker sees whether the run whose answers are judged has a further attempt.
            if not (self._source and plan.target.attempts > 1):
                work.finish_what_needs_nothing(retry_errors=self._executor.retry_errors)
            loaded.append(LoadedCase(work, linked.get(case.id, {})))
        return loaded

    def _linked(self, cases: list[TestCase], ids: list[str], rivals: dict[str, _Rivals]) -> dict[str, _Linked]:
        if self._source is None:
            return self._reusable(cases) if self._plan.reuse else {}
        linked = {case_id: _answers(units) for case_id, units in self._store.units(self._source, ids).items()}
        if self._plan.reuse:
            self._add_judgements(cases, linked, rivals)
        return linked

    def _add_judgements(self, cases: list[TestCase], linked: dict[str, _Linked], rivals: dict[str, _Rivals]) -> None:
        """Add the judgements that any run has already made of these answers."""
        places = {}
        for case in cases:
            answers = [((unit.sample, unit.attempt), unit) for units in linked[case.id].values() for unit in units]
            places[case.id] = self._executor.judgement_names(case, answers, rivals.get(case.id, {}))
        found = self._store.finished([name for each in places.values() for name in each])
        _link(linked, places, found)

    def _reusable(self, cases: list[TestCase]) -> dict[str, _Linked]:
        """Finished units of earlier runs with equal requests: answers first, then judgements of those answers."""
        executor, store = self._executor, self._store
        places = {case.id: executor.answer_names(case) for case in cases}
        found = store.finished([name for each in places.values() for name in each])
        for case in cases:
            known = [(place, found[name]) for name, place in places[case.id].items() if name in found]
            places[case.id] |= executor.judgement_names(case, known)
        found |= store.finished([name for each in places.values() for name in each if name not in found])
        linked: dict[str, _Linked] = {case.id: {} for case in cases}
        _link(linked, places, found)
        return linked


def _link(
    linked: dict[str, _Linked], places: dict[str, dict[bytes, tuple[int, int]]], found: dict[bytes, Unit]
) -> None:
    """Add found units to the samples that need them; `places` maps case and unit name to sample and attempt."""
    for case_id, names in places.items():
        for name, (sample, _) in names.items():
            if name in found:
                linked[case_id].setdefault(sample, []).append(found[name])


def _rivals(store: Store, plan: RunPlan, ids: Sequence[str]) -> dict[str, _Rivals]:
    """The answers to compare with, by case; empty unless the run is a pairwise comparison."""
    if plan.baseline_run_id is None:
        return {}
    return {case_id: _last_answers(units) for case_id, units in store.units(plan.baseline_run_id, ids).items()}


def _last_answers(units: Iterable[Unit]) -> _Rivals:
    """The last answer of each sample, which is the one that counts; none if the last attempt failed."""
    last = {unit.sample: unit for unit in sorted(units, key=lambda unit: unit.attempt) if unit.kind == "generation"}
    answers = {sample: _generation(unit.data).answer for sample, unit in last.items()}
    return {sample: answer for sample, answer in answers.items() if answer is not None}


def _answers(units: list[Unit]) -> _Linked:
    linked: _Linked = {}
    for unit in units:
        if unit.kind == "generation":
            linked.setdefault(unit.sample, []).append(unit)
    return linked


def refuse_other_questions(store: Store, executor: Executor) -> None:
    """Raise `ConfigurationError` if requests are no longer what they were when the run was started.

    Finished units would then not be found by name, and all of them would be paid for again.
    """
    plan = executor.plan
    stored = store.cases(plan.run_id, limit=BATCH)
    ids = [item.case.id for item in stored]
    units, rivals = store.units(plan.run_id, ids), _rivals(store, plan, ids)
    for item in stored:
        answers = executor.answer_names(item.case)
        own = units[item.case.id]
        known = [(answers[unit.name], unit) for unit in own if unit.name in answers]
        expected = {*answers, *executor.judgement_names(item.case, known, rivals.get(item.case.id, {}))}
        found = {unit.name for unit in own if unit.kind in ("generation", "judgement") and unit.ok}
        if other := found - expected:
            raise _other_questions(plan, answers_too=bool(other & {u.name for u in own if u.kind == "generation"}))
        if found:
            return


def _other_questions(plan: RunPlan, *, answers_too: bool) -> ConfigurationError:
    if not answers_too:
        return ConfigurationError(
            f"The metrics of run {plan.run_id} have changed since it was started, in their code or "
            "in how this version applies them, so finished samples would be scored again. Restore them, or start a "
            "new run with --reuse."
        )
    return ConfigurationError(
        f"Run {plan.run_id} was started by another version of prompt-evaluator, whose requests differ, so "
        "finished samples would be paid for again. Finish it with that version, or start a new run."
    )
