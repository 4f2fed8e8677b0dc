"""What differs between two runs, and only that."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Literal

from prompt_evaluator.compare.refusing import short
from prompt_evaluator.compare.sameness import is_complete, is_same, without_service
from prompt_evaluator.model.comparison import Change, DatasetChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import RunFacts

_MOST_LINES = 200


def differences(baseline: RunFacts, candidate: RunFacts, rows: DatasetChange) -> dict[str, Change | DatasetChange]:
    """What differs, in the order of a run's inputs.

    What a file made elsewhere leaves out is unknown and not a difference.
    """
    return dict(_differences(baseline, candidate, rows))


def text_diff(baseline: str, candidate: str) -> str:
    """A unified diff of at most 200 lines, and how many more there are."""
    lines = list(unified_diff(baseline.splitlines(), candidate.splitlines(), "baseline", "candidate", lineterm=""))
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… {len(lines) - _MOST_LINES:,} more lines"]
    return "\n".join(lines)


def _differences(
    baseline: RunFacts, candidate: RunFacts, rows: DatasetChange
) -> Iterator[tuple[str, Change | DatasetChange]]:
    yield from _text("prompt", baseline, candidate)
    for key, field in (("prompt_version", "prompt_version"), ("model", "generator_model")):
        ours, theirs = getattr(baseline, field), getattr(candidate, field)
        if _differ(ours, theirs, baseline, candidate):
            yield key, Change(baseline=ours, candidate=theirs)
    yield from _settings("parameters", *_known_settings("parameters", baseline, candidate))
    yield from _judge(baseline, candidate)
    yield from _settings("judge_parameters", *_known_settings("judge_parameters", baseline, candidate))
    yield from _text("rubric", baseline, candidate)
    yield from _settings("metrics", *_known_settings("metric_definitions", baseline, candidate))
    if _differ(baseline.num_samples, candidate.num_samples, baseline, candidate):
        yield "samples", Change(baseline=baseline.num_samples, candidate=candidate.num_samples)
    same = baseline.dataset_hash is not None and baseline.dataset_hash == candidate.dataset_hash
    other = not same and None not in (baseline.dataset_hash, candidate.dataset_hash)
    if other or rows.added or rows.removed or rows.changed:
        yield "cases" if same else "dataset", rows


def _text(part: Literal["prompt", "rubric"], baseline: RunFacts, candidate: RunFacts) -> Iterator[tuple[str, Change]]:
    if part == "prompt":
        names = [baseline.prompt_path, candidate.prompt_path]
        hashes = [baseline.prompt_hash, candidate.prompt_hash]
        texts = [baseline.prompt_text, candidate.prompt_text]
    else:
        names = [baseline.rubric_name, candidate.rubric_name]
        hashes = [baseline.rubric_hash, candidate.rubric_hash]
        texts = [baseline.rubric_text, candidate.rubric_text]
    by_text = None not in texts and texts[0] != texts[1] and None in hashes
    if not by_text and not _differ(hashes[0], hashes[1], baseline, candidate):
        return
    lost = any(text is None and digest is not None for text, digest in zip(texts, hashes, strict=True))
    diff = None if lost else text_diff(texts[0] or "", texts[1] or "")
    names = _apart(names, hashes)
    yield part, Change(baseline=names[0], candidate=names[1], diff=diff)


def _judge(baseline: RunFacts, candidate: RunFacts) -> Iterator[tuple[str, Change]]:
    models = [baseline.judge_model, candidate.judge_model]
    hashes = [baseline.judge_hash, candidate.judge_hash]
    if is_same("judge", baseline, candidate) is False or _differ(models[0], models[1], baseline, candidate):
        names = _apart(models, hashes)
        yield "judge", Change(baseline=names[0], candidate=names[1])


def _settings(called: str, baseline: dict[str, Any], candidate: dict[str, Any]) -> Iterator[tuple[str, Change]]:
    for name in dict.fromkeys((*baseline, *candidate)):
        ours, theirs = baseline.get(name), candidate.get(name)
        if ours != theirs:
            yield f"{called}.{name}", Change(baseline=ours, candidate=theirs)


def _known_settings(field: str, baseline: RunFacts, candidate: RunFacts) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of both runs that can be compared."""
    ours, theirs = (getattr(facts, field) or {} for facts in (baseline, candidate))
    if not all(is_complete(facts) for facts in (baseline, candidate)):
        both = [name for name in ours if name in theirs]
        return {name: ours[name] for name in both}, {name: theirs[name] for name in both}
    if baseline.path is None and candidate.path is None:
        return ours, theirs
    return without_service(ours), without_service(theirs)


def _differ(ours: object, theirs: object, baseline: RunFacts, candidate: RunFacts) -> bool:
    known = (value is not None or is_complete(facts) for value, facts in ((ours, baseline), (theirs, candidate)))
    return ours != theirs and all(known)


def _apart(names: list[str | None], hashes: list[str | None]) -> list[str | None]:
    """Names, with their hashes if the names are equal."""
    if names[0] != names[1]:
        return [name or (short(digest) if digest else None) for name, digest in zip(names, hashes, strict=True)]
    return [
        f"{name or ''} ({short(digest)})".lstrip() if digest else name
        for name, digest in zip(names, hashes, strict=True)
    ]
