"""All findings about a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import Files, Findings
from prompt_evaluator.model.outcome import MOST_CASE_FILES, PACK_FILE
from prompt_evaluator.reports.advice import advice
from prompt_evaluator.reports.facts import facts
from prompt_evaluator.reports.flags import flag_findings
from prompt_evaluator.reports.headline import headline
from prompt_evaluator.reports.metrics import NO_SCORES, metric_findings
from prompt_evaluator.reports.next_step import next_step

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.reports.next_step import Reader


def run_findings(
    record: RunRecord,
    result: RunResult | None,
    *,
    main_file: Path,
    reader: Reader,
    stopped_by: PromptEvaluatorError | None = None,
) -> Findings:
    """Return all findings about a run.

    Args:
        record: The run.
        result: Its result; None if the run had already ended.
        main_file: Absolute path of its main artifact.
        reader: Decides how paths and commands are written.
        stopped_by: The error that ended it early, if any.
    """
    shown = shown_path(main_file, reader.folder)
    if result is None:
        files = Files(main=str(main_file), shown=shown, cases=None)
        return Findings(ended_before=True, headline=headline(record, None, stopped_by), files=files)
    if record.plan.baseline_run_id is not None:
        from prompt_evaluator.reports.pairwise import pairwise_run_findings  # noqa: PLC0415 - rarely needed

        return pairwise_run_findings(record, result, Files(main=str(main_file), shown=shown, cases=None), reader)
    metrics = metric_findings(result)
    return Findings(
        headline=headline(record, result, stopped_by),
        no_scores=None if metrics else NO_SCORES,
        metrics=metrics,
        flags=flag_findings(result),
        facts=facts(record.plan, result),
        advice=advice(record.plan, result),
        files=Files(main=str(main_file), shown=shown, cases=_case_files(record)),
        next_step=next_step(record, result, reader),
    )


def _case_files(record: RunRecord) -> str:
    packed = record.plan.dataset.selected > MOST_CASE_FILES
    return f"{PACK_FILE} next to it, one case per line" if packed else "test_case_<id>.json next to it"


def shown_path(path: Path, seen_from: Path) -> str:
    """Return an absolute path, or one relative to the folder if that is below it and shorter."""
    relative = os.path.relpath(path, seen_from)
    return str(path) if relative.startswith("..") or len(relative) >= len(str(path)) else relative
