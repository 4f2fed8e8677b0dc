"""What a look at the selected cases shows, before any of them is asked about."""

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
    """Takes one case after the other; what it found is complete after the last."""

    def __init__(self, draft: RunPlan) -> None:
        self.selected = 0
        self.scores: dict[str, None] = {}
        """The names of all scores, in the order in which they appear."""
        self.asks_judge = False
        """Whether anything asks the run's own judge."""
        self.judges: dict[str, None] = {}
        """Judges that uses of metrics name for themselves."""
        self._draft = draft
        self._uses = make_uses(draft)
        self._requests = RequestBuilder(draft.target, draft.target.model)
        self._renders = draft.target.template is not None or draft.target.render_prompt
        rubric = draft.rubric
        self._taken = {rubric_key(draft), *(flag.name for flag in rubric.flags)} if rubric else set[str]()
        self._kinds: dict[str, str] = {}
        """By the name of each use, which metric it is."""
        self._common_is_checked = False
        self._scorable = False
        self._missing: dict[str, str] = {}
        """By metric, why it would be skipped; of use while nothing can be scored."""

    def add(self, case: TestCase) -> None:
        """Look at a case.

        Raises:
            ConfigurationError: A template does not fit it, its metrics cannot be used, or two scores have one name.
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
        """A run without a single score would only cost money."""
        if self._scorable:
            return
        if not self.scores:
            what = "There is nothing to score the answers by."
            raise ConfigurationError(f"{what} Name a rubric or --metrics, or give the cases `checks`.")
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self._missing.items())
        what = f"Every metric would be skipped for every case ({reasons})."
        raise ConfigurationError(f"{what} Choose other metrics, or give the cases what these need.")

    def _applied(self, case: TestCase) -> tuple[AppliedMetric, ...]:
        try:
            return self._uses.of(case)
        except ConfigurationError as error:
            if not case.checks:
                raise
            where = f" ({case.file}, line {case.line})" if case.file and case.line else ""
            raise ConfigurationError(f"The case {case.id!r}{where} has a check that cannot be used: {error}") from None

    def _check_names(self, applied: Iterable[AppliedMetric]) -> None:
        """Two scores, or a score and a flag, of one name would be mistaken for each other in every result."""
        seen = set(self._taken)
        for each in applied:
            for name in each.score_names:
                if name in seen:
                    rubric = self._draft.rubric
                    owner = f"The rubric {rubric.name!r}" if rubric else "Another metric"
                    what = f"{owner} has a score or flag called {name!r}, like the metric."
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
            both = f"{first!r} and {applied.use.metric!r}"
            raise ConfigurationError(f"Two metrics, {both}, are called {applied.key!r}. Give one another `name`.")

    def _look_for_scores(self, case: TestCase, applied: Iterable[AppliedMetric]) -> None:
        for each in applied:
            missing = each.metric.missing(case)
            if missing is None:
                self._scorable = True
                return
            self._missing.setdefault(each.key, missing)
