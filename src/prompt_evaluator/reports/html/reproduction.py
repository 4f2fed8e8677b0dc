"""What it takes to run the same again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.html.markup import Content, Html, element, join
from prompt_evaluator.reports.html.parts import code, command, facts, fold, name, within, written

if TYPE_CHECKING:
    from prompt_evaluator.model.report import Reproduction


def reproduction(found: Reproduction) -> Html:
    """Command, versions, hashes and parameters of one run."""
    of = found.facts
    started = [command(_command(found), "The command that started the run")] if found.command else []
    return join(
        [
            *started,
            facts(
                [
                    ("Run", _hash(of.run_id or of.name)),
                    ("Started", element("time", of.started_at, datetime=of.started_at) if of.started_at else None),
                    ("Dataset", _with_hash(of.dataset_name, of.dataset_hash)),
                    ("Size", _size(found)),
                    ("Prompt", _with_hash(_prompt(found), of.prompt_hash)),
                    ("Model", name(of.generator_model) if of.generator_model else None),
                    ("Parameters", _parameters(of.parameters)),
                    ("Judge", _with_hash(of.judge_model, of.judge_hash)),
                    ("Judge's parameters", _parameters(of.judge_parameters)),
                    ("Rubric", _with_hash(of.rubric_name, of.rubric_hash)),
                    ("Tags", ", ".join(f"{key}={value}" for key, value in of.tags.items())),
                    ("Note", of.note),
                    ("Versions", f"prompt-evaluator {found.version}, Python {found.python}"),
                ]
            ),
            _folded("Prompt", of.prompt_text),
            _folded("Rubric", of.rubric_text),
            _folded("Other metrics", _json(found.metrics) if found.metrics else None),
        ]
    )


def _command(found: Reproduction) -> str:
    return "\n".join(([f"# in {found.folder}"] if found.folder else []) + [found.command or ""])


def _size(found: Reproduction) -> str | None:
    of = found.facts
    if of.cases is None:
        return None
    return many(of.cases, "case") + (f" × {many(of.num_samples, 'sample')}" if of.num_samples else "")


def _prompt(found: Reproduction) -> str | None:
    of = found.facts
    version = f"version {of.prompt_version}" if of.prompt_version else None
    path = within(found.folder, of.prompt_path) if of.prompt_path else None
    return ", ".join(part for part in (path, version) if part) or ("(text)" if of.prompt_hash else None)


def _hash(whole: str | None) -> Html | None:
    return element("code", whole, class_="hash") if whole else None


def _with_hash(label: str | None, hash_: str | None) -> Content:
    if label is None and hash_ is None:
        return None
    return join([name(label) if label else None, " " if label and hash_ else None, _hash(hash_)])


def _parameters(found: dict[str, Any]) -> Html | None:
    parts = [code(f"{key}={_json(value) if not isinstance(value, str) else value}") for key, value in found.items()]
    return join(parts, " ") if parts else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict) else None, default=str)


def _folded(label: str, content: str | None) -> Html | None:
    return fold(label, written(content, folded=False)) if content else None
