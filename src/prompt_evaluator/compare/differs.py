"""What differs between two runs, and only that."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from prompt_evaluator.compare.refusing import short
from prompt_evaluator.model.comparison import Change, DatasetChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model.comparison import RunFacts

_MOST_LINES = 200


def differences(baseline: RunFacts, candidate: RunFacts, rows: DatasetChange) -> dict[str, Change | DatasetChange]:
    """What differs, in the order of a run's inputs.

    What a file leaves out is unknown and not a difference; what a stored run leaves out was not used.
    """
    return dict(_differences(baseline, candidate, rows))


def text_diff(baseline: str, candidate: str) -> str:
    """A unified diff of at most 200 lines, and how many more there are."""
    lines = list(unified_diff(baseline.splitlines(), candidate.splitlines(), "baseline", "candidate", lineterm=""))
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… {len(lines) - _MOST_LINES:,} more lines"]
    return "\n".join(lines)


def is_known(value: object, facts: RunFacts) -> bool:
    """Whether a fact is known; None in a stored run says that there is none."""
    return value is not None or facts.path is None


def _differences(
    baseline: RunFacts, candidate: RunFacts, rows: DatasetChange
) -> Iterator[tuple[str, Change | DatasetChange]]:
    yield from _text("prompt", baseline, candidate)
    for key, field in (("prompt_version", "prompt_version"), ("model", "generator_model")):
        ours, theirs = getattr(baseline, field), getattr(candidate, field)
        if _differ(ours, theirs, baseline, candidate):
            yield key, Change(baseline=ours, candidate=theirs)
    yield from _settings("parameters", baseline, candidate)
    yield from _judge(baseline, candidate)
    yield from _settings("judge_parameters", baseline, candidate)
    yield from _text("rubric", baseline, candidate)
    yield from _settings("metric_definitions", baseline, candidate, called="metrics")
    if _differ(baseline.num_samples, candidate.num_samples, baseline, candidate):
        yield "samples", Change(baseline=baseline.num_samples, candidate=candidate.num_samples)
    same = baseline.dataset_hash is not None and baseline.dataset_hash == candidate.dataset_hash
    other = not same and None not in (baseline.dataset_hash, candidate.dataset_hash)
    if other or rows.added or rows.removed or rows.changed:
        yield "cases" if same else "dataset", rows


def _text(part: str, baseline: RunFacts, candidate: RunFacts) -> Iterator[tuple[str, Change]]:
    sides = (baseline, candidate)
    hashes = [getattr(facts, f"{part}_hash") for facts in sides]
    texts = [getattr(facts, f"{part}_text") for facts in sides]
    by_hash = _differ(*hashes, *sides)
    by_text = None not in texts and texts[0] != texts[1] and None in hashes
    if not by_hash and not by_text:
        return
    name = "prompt_path" if part == "prompt" else "rubric_name"
    names = _apart([getattr(facts, name) for facts in sides], hashes)
    known = all(is_known(text, facts) for text, facts in zip(texts, sides, strict=True))
    # A stored run without a text did not use any; but one that has only the hash has lost it.
    lost = any(digest is not None and text is None for digest, text in zip(hashes, texts, strict=True))
    diff = text_diff(texts[0] or "", texts[1] or "") if known and not lost else None
    yield part, Change(baseline=names[0], candidate=names[1], diff=diff)


def _judge(baseline: RunFacts, candidate: RunFacts) -> Iterator[tuple[str, Change]]:
    models, hashes = (
        [getattr(facts, field) for facts in (baseline, candidate)] for field in ("judge_model", "judge_hash")
    )
    if _differ(*models, baseline, candidate) or (None not in hashes and hashes[0] != hashes[1]):
        names = _apart(models, hashes)
        yield "judge", Change(baseline=names[0], candidate=names[1])


def _settings(
    field: str, baseline: RunFacts, candidate: RunFacts, *, called: str | None = None
) -> Iterator[tuple[str, Change]]:
    ours: Mapping[str, Any] = getattr(baseline, field) or {}
    theirs: Mapping[str, Any] = getattr(candidate, field) or {}
    if (not ours and baseline.path is not None) or (not theirs and candidate.path is not None):
        return  # a file without any of them leaves them out
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            yield f"{called or field}.{name}", Change(baseline=ours.get(name), candidate=theirs.get(name))


def _differ(ours: object, theirs: object, baseline: RunFacts, candidate: RunFacts) -> bool:
    return ours != theirs and is_known(ours, baseline) and is_known(theirs, candidate)


def _apart(names: list[str | None], hashes: list[str | None]) -> list[str | None]:
    """Names, with their hashes if the names are equal."""
    if names[0] != names[1]:
        return [name or (short(digest) if digest else None) for name, digest in zip(names, hashes, strict=True)]
    return [
        f"{name or ''} ({short(digest)})".lstrip() if digest else name
        for name, digest in zip(names, hashes, strict=True)
    ]
