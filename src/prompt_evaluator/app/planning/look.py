"""Inspects the selected cases before any call is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.wiring import make_uses
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.uses import rubric_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import RunPlan, TestCase
    from prompt_evaluator.pipeline.uses import AppliedMetric


class Look:
    """Collects facts about cases, one at a time; complete after the last one."""

    def __init__(self, draft: RunPlan) -> None:
        self.selected = 0
        self.scores: dict[str, None] = {}
        """Names of all scores, in order of appearance."""
        self.asks_judge = False
        """Whether any metric asks the run's own judge."""
        self.judges: dict[str, None] = {}
        """Judges that metric uses name."""
        self._draft = draft
        self._uses = make_uses(draft)
        self._requests = RequestBuilder(draft.target, draft.target.model)
        self._renders = draft.target.template is not None or draft.target.render_prompt
        rubric = draft.rubric
        self._taken = {rubric_key(draft), *(flag.name for flag in rubric.flags)} if rubric else set[str]()
        self._kinds: dict[str, str] = {}
        """Metric of each use, by the use's key."""
        self._common_is_checked = False
        self._scorable = False
        self._missing: dict[str, str] = {}
        """Why each metric would be skipped; collected only while nothing can be scored."""

    def add(self, case: TestCase) -> None:
        """Inspect a case.

        Raises:
            ConfigurationError: A template does not fit it, its metrics cannot be used, or two scores share a name.
        """
        self.selected += 1
        if self._renders:
            self._requests.request(case, 0)
        applied = self._applied(case)
        if case.checks or not self._common_is_checked:
            self._common_is_checked = self._common_is_checked or not case.checks
            self._check_names(applied)
            for each in applied:
                self._note(each)
        if not self._scorable:
            self._look_for_scores(case, applied)

    def refuse_nothing_to_score(self) -> None:
        """Raise an error if no answer could be scored: the run would only cost money."""
        if self._scorable:
            return
        if not self.scores:
            what = "There is nothing to score the answers with."
            raise ConfigurationError(f"{what} Choose a rubric or --metrics, or add `checks` to the cases.")
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self._missing.items())
        what = f"Every metric would be skipped for every case ({reasons})."
        raise ConfigurationError(f"{what} Choose other metrics, or give the cases what these need.")

    def _applied(self, case: TestCase) -> tuple[AppliedMetric, ...]:
        try:
            return self._uses.of(case)
        except ConfigurationError as error:
            if not case.checks:
                raise
            where = f"{case.file}:{case.line}: " if case.file and case.line else ""
            raise ConfigurationError(f"{where}The case {case.id!r} has a check that cannot be used: {error}") from None

    def _check_names(self, applied: Iterable[AppliedMetric]) -> None:
        """Refuse two scores, or a score and a flag, with the same name: results could not tell them apart."""
        seen = set(self._taken)
        for each in applied:
            for name in each.score_names:
                if name in seen:
                    rubric = self._draft.rubric
                    owner = f"The rubric {rubric.name!r}" if rubric else "Another metric"
                    what = f"{owner} already has a score or flag named {name!r}."
                    raise ConfigurationError(f"{what} Give the metric another `name`, or rename the criterion.")
                seen.add(name)

    def _note(self, applied: AppliedMetric) -> None:
        self.scores.update(dict.fromkeys(applied.score_names))
        if applied.use.judge:
            self.judges[applied.use.judge] = None
        elif applied.metric.needs_judge:
            self.asks_judge = True
        first = self._kinds.setdefault(applied.key, applied.use.metric)
        if first != applied.use.metric:
            what = f"Two metrics, {first!r} and {applied.use.metric!r}, are called {applied.key!r}."
            raise ConfigurationError(f"{what} Give one of them another `name`.")

    def _look_for_scores(self, case: TestCase, applied: Iterable[AppliedMetric]) -> None:
        for each in applied:
            missing = each.metric.missing(case)
            if missing is None:
                self._scorable = True
                return
            self._missing.setdefault(each.key, missing)
