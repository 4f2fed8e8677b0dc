"""Whether two runs have the same dataset, rubric and judge, as far as that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import RunFacts

Part = Literal["dataset", "rubric", "judge"]
PARTS: tuple[Part, ...] = ("dataset", "rubric", "judge")


def is_complete(facts: RunFacts) -> bool:
    """Whether what is not there was not used: in a stored run, and in a file that was made here."""
    return facts.path is None or facts.metric_definitions is not None


def is_same(part: Part, baseline: RunFacts, candidate: RunFacts) -> bool | None:
    """None if it is not known. If only one run has a rubric or a judge, there is nothing that could be the same."""
    ours, theirs = getattr(baseline, f"{part}_hash"), getattr(candidate, f"{part}_hash")
    if ours is not None and theirs is not None:
        return bool(ours == theirs)
    if part == "rubric" and baseline.rubric_text is not None and candidate.rubric_text is not None:
        return baseline.rubric_text == candidate.rubric_text
    complete = is_complete(baseline) and is_complete(candidate)
    if part == "judge":
        return _same_judge(baseline, candidate, complete=complete)
    return True if complete else None


def without_service(settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters without the address of the service, which files do not say."""
    return {name: value for name, value in settings.items() if name.rpartition(" ")[2] != "service"}


def _same_judge(baseline: RunFacts, candidate: RunFacts, *, complete: bool) -> bool | None:
    ours, theirs = baseline.judge_model, candidate.judge_model
    if ours is None or theirs is None:
        return True if complete else None
    if ours != theirs:
        return False
    if without_service(baseline.judge_parameters) == without_service(candidate.judge_parameters):
        return True
    return False if complete else None
