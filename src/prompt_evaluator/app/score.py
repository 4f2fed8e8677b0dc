"""Judge the stored answers of a run again."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.outcomes import stored_cases
from prompt_evaluator.app.planning.prepared import Prepared
from prompt_evaluator.app.starting import carry_out, create_run, refuse_pairwise
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import JudgeConfig
from prompt_evaluator.model.bars import Bars
from prompt_evaluator.model.declaration import NO_RUBRIC

if TYPE_CHECKING:
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import CommandLine, Rubric, RunPlan
    from prompt_evaluator.model.outcome import Outcome

_NO_BARS = Bars()


async def score_run(  # noqa: PLR0913 - each is a flag of the command
    run_id: str,
    session: Session,
    *,
    rubric: str | None = None,
    judge_model: str | None = None,
    judge_temperature: float | None = None,
    judge_repeats: int | None = None,
    allow_mock_judge: bool = False,
    bars: Bars = _NO_BARS,
    command: CommandLine | None = None,
) -> Outcome:
    """Judge the stored answers of a run again, as a new run, without generating new ones.

    What is None is as in the run: rubric, judge, temperature and repeats.
    """
    store = session.store
    parent = store.run(run_id).plan
    refuse_pairwise(parent)
    async with session.models() as models:
        judge = models.name(judge_model or (parent.judge.model if parent.judge else parent.target.model))
        before = parent.judge or JudgeConfig(
            model=str(judge), identity=models.identity(judge), temperature=0.0, seed=parent.target.seed
        )
        draft = msgspec.structs.replace(
            parent,
            run_id=str(uuid.uuid4()),
            parent_run_id=parent.run_id,
            rubric=_rubric(rubric, parent, session),
            judge=models.as_sent(
                msgspec.structs.replace(
                    before,
                    model=str(judge),
                    identity=models.identity(judge),
                    temperature=before.temperature if judge_temperature is None else judge_temperature,
                    repeats=before.repeats if judge_repeats is None else judge_repeats,
                ),
                ("seed",) if judge_temperature is not None else ("seed", "temperature"),
            ),
            judges={},
            fail_under=bars.fail_under,
            fail_over=bars.fail_over,
            reuse=False,
            command=command,
            harness=None,
        )
        cases = (stored.case for stored in stored_cases(store, parent.run_id))
        prepared = Prepared(draft, cases, models, allow_mock_judge=allow_mock_judge)
        return await carry_out(create_run(prepared, models, session), models, session)


def _rubric(name: str | None, parent: RunPlan, session: Session) -> Rubric | None:
    """The rubric with that name; the parent's own if None."""
    if name is None:
        return parent.rubric
    return None if name == NO_RUBRIC else load_rubric(name, session.settings.rubrics)
