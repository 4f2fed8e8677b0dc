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


def changed_metrics(baseline: RunFacts, candidate: RunFacts) -> list[str]:
    """Metrics outside the rubric that are set up differently. Thresholds do not count: they do not change a score."""
    ours, theirs = baseline.metric_definitions or {}, candidate.metric_definitions or {}
    return [name for name in ours if name in theirs and _measured_by(ours[name]) != _measured_by(theirs[name])]


def _measured_by(definition: dict[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in definition.get("options", {}).items() if name != "threshold"}
    return {**definition, "options": options}


def _standard(facts: RunFacts) -> dict[str, Any]:
    """The judge's parameters without its seed, which draws other judgements by the same standard."""
    known = without_service(facts.judge_parameters)
    return {name: value for name, value in known.items() if name.rpartition(" ")[2] != "seed"}


def _same_judge(baseline: RunFacts, candidate: RunFacts, *, complete: bool) -> bool | None:
    ours, theirs = baseline.judge_model, candidate.judge_model
    if ours is None or theirs is None:
        return True if complete else None
    if ours != theirs:
        return False
    if _standard(baseline) == _standard(candidate):
        return True
    return False if complete else None
