"""A plan that is completed by reading its cases once."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.bars import check_bars
from prompt_evaluator.app.planning.look import Look
from prompt_evaluator.errors import ConfigurationError, PromptEvaluatorError
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.model import DatasetRef, JudgeConfig, ProviderSettings, RunPlan, TestCase
    from prompt_evaluator.providers.catalogue import ModelName

_MOST_RESULTS = 100_000
"""Of one case: they are held in memory together."""
CANNOT_JUDGE = ("command", "python", "router")
"""Provider kinds that cannot judge."""


class Prepared:
    """A draft plan, and the cases that complete it.

    Make no calls before `finish`: only then is it known that all cases can be used.
    """

    def __init__(
        self,
        draft: RunPlan,
        cases: Iterable[TestCase],
        models: Models,
        *,
        allow_mock_judge: bool,
        dataset: Callable[[], DatasetRef] | None = None,
    ) -> None:
        """Store the parts; no case is read yet.

        Args:
            draft: The plan, with the run's own judge even if it is not needed.
            cases: Iterated over once.
            models: The models that can be called.
            allow_mock_judge: Whether the mock may judge a real model's answers.
            dataset: Called after the last case, returns what was read. If None, the draft's own is used.
        """
        self.draft = draft
        self._models, self._allow_mock_judge, self._dataset = models, allow_mock_judge, dataset
        self._look = Look(draft)
        self._refused: PromptEvaluatorError | None = None
        self.cases: Iterator[TestCase] = self._seen(cases)
        """The selected cases, once, as they are read. Raises an error if the dataset or a case is invalid."""

    def finish(self) -> RunPlan:
        """Return the plan, completed with the number of cases and the judges they need. Reads any remaining cases.

        Raises:
            ConfigurationError: Something cannot be used, or nothing would be scored.
            InputError: The dataset is invalid. An error raised while cases were read is raised again.
        """
        deque(self.cases, maxlen=0)
        if self._refused:
            raise self._refused
        dataset = self._dataset() if self._dataset else self.draft.dataset
        draft = msgspec.structs.replace(
            self.draft, dataset=msgspec.structs.replace(dataset, selected=self._look.selected)
        )
        return self._with_judges(draft)

    def _seen(self, cases: Iterable[TestCase]) -> Iterator[TestCase]:
        look = self._look.add
        try:
            for case in cases:
                look(case)
                yield case
        except PromptEvaluatorError as error:
            self._refused = error
            raise

    def _with_judges(self, draft: RunPlan) -> RunPlan:
        """Check the plan and add its judges, each of which must be able to judge."""
        look, models = self._look, self._models
        if not look.selected:
            filters = "--case-ids, --where or --only" if "only" in draft.filters else "--case-ids or --where"
            hint = f"Loosen {filters}." if draft.dataset.count else "Give at least one."
            what = "No case matches the filters" if draft.dataset.count else "There are no cases"
            raise ConfigurationError(f"{what}. {hint}")
        look.refuse_nothing_to_score()
        _check_size(draft, draft.judge.repeats if draft.judge and look.asks_judge else 1)
        check_bars(draft, draft, look.scores)
        generator = models.name(draft.target.model)
        names = {text: models.name(text) for text in look.judges}
        asked = [*([models.name(draft.judge.model)] if draft.judge and look.asks_judge else ()), *names.values()]
        for judge in asked:
            _check_can_judge(judge, models.settings)
            if not self._allow_mock_judge:
                check_mock_judge(generator, judge, models.settings)
        return msgspec.structs.replace(
            draft,
            judge=draft.judge if look.asks_judge else None,
            judges={text: _named_judge(name, draft, models) for text, name in names.items()},
            prices=models.prices_used(),
            synthetic="mock" in {models.settings[name.provider].kind for name in (generator, *asked)},
        )


def with_known_cases(draft: RunPlan, plan: RunPlan) -> RunPlan:
    """Complete a draft for an existing run without reading cases: what depends on them comes from the run's plan.

    Draft and plan then differ only in their settings, provided the dataset is the one the run was made from.
    """
    same_dataset = draft.dataset.path == plan.dataset.path and draft.dataset.hash in ("", plan.dataset.hash)
    return msgspec.structs.replace(
        draft,
        dataset=plan.dataset if same_dataset else draft.dataset,
        judge=draft.judge if plan.judge else None,
        judges=plan.judges,
        synthetic=plan.synthetic,
    )


def _named_judge(name: ModelName, draft: RunPlan, models: Models) -> JudgeConfig:
    """A judge named by a metric has the settings of the run's own."""
    assert draft.judge is not None  # noqa: S101 - a draft always has one
    judge = msgspec.structs.replace(draft.judge, model=str(name), identity=models.identity(name))
    return models.as_sent(judge, ("temperature", "seed"))


def _check_size(draft: RunPlan, repeats: int) -> None:
    """Limit the product: each factor may be reasonable while all together are not."""
    samples, attempts, most = draft.num_samples, draft.target.attempts, _MOST_RESULTS
    if (product := samples * attempts * repeats) > most:
        raise ConfigurationError(
            f"{many(samples, 'sample')} × {many(attempts, 'attempt')} × {many(repeats, 'judgement')} make up to "
            f"{product:,} results per case, but the limit is {most:,}. Ask for fewer samples, retries or judgements."
        )


def _check_can_judge(judge: ModelName, settings: Mapping[str, ProviderSettings]) -> None:
    if settings[judge.provider].kind in CANNOT_JUDGE:
        raise ConfigurationError(
            f"{judge} cannot judge answers. Choose a judge model (--judge-model), or use metrics that need no judge "
            "(--rubric none --metrics ...)."
        )


def check_mock_judge(generator: ModelName, judge: ModelName, settings: Mapping[str, ProviderSettings]) -> None:
    """Refuse the mock as judge of a real model: its made-up judgements would look like results."""
    if settings[judge.provider].kind == "mock" and settings[generator.provider].kind != "mock":
        what = f"The mock would judge the answers of {generator}, with scores that mean nothing."
        raise ConfigurationError(f"{what} Choose a real --judge-model, or pass --allow-mock-judge.")
