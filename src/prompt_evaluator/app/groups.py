"""Runs several evaluations as one group: all are planned first, and a run that fails does not affect the others."""

from __future__ import annotations

import time
import uuid
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.evaluate import begin_run, estimate_evaluation, plan_evaluation
from prompt_evaluator.app.group_estimate import MemberEstimate, group_estimate
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.errors import BudgetSpentError, ConfigurationError, PromptEvaluatorError, StoreError
from prompt_evaluator.model.several import quoted_word
from prompt_evaluator.reports import group as reports

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from prompt_evaluator.app.group_estimate import GroupEstimate
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import CommandLine, RunRecord
    from prompt_evaluator.model.group import GroupFindings, Member
    from prompt_evaluator.model.options import EvaluateOptions


class Part(NamedTuple):
    """One run of a group that is to be made."""

    member: Member
    options: EvaluateOptions
    run_id: str | None = None
    """A run that already exists: what is missing of it is made, instead of a new run."""


async def run_group(parts: Sequence[Part], session: Session, *, group_id: str | None = None) -> AsyncIterator[Member]:
    """Run every part, one after the other, all in one group, by default a new one.

    All runs are planned first, so that errors are raised before the first one starts. After that, a run that fails does
    not affect the others. Only an interrupt, a spent budget or a store that cannot be written ends the group; runs that
    were not started are yielded without an outcome.
    """
    parts = with_one_judge(parts)
    await check_models(parts, session)
    group = group_id or str(uuid.uuid4())
    planned: deque[tuple[Member, RunRecord | str]] = deque()
    try:
        for member, options, run_id in parts:
            new = msgspec.structs.replace(options, group_id=group)
            planned.append((member, run_id or await plan_evaluation(new, session)))
        ended = False
        while planned and not ended:
            member, run = planned.popleft()
            done = await _run_member(member, run, session)
            ended = _ends_the_group(done)
            yield done
        for member, _ in planned:
            yield member
    finally:
        for _, run in planned:
            if not isinstance(run, str):
                session.store.delete_run(run.plan.run_id)


async def estimate_group(parts: Sequence[Part], session: Session) -> GroupEstimate:
    """Estimate what every run would take. Makes no calls and stores nothing."""
    found, written = [], set[bytes]()
    for member, options, _ in with_one_judge(parts):
        estimate = await estimate_evaluation(options, session, written=written)
        found.append(
            MemberEstimate(dataset=member.dataset, model=member.model, prompt=member.prompt, estimate=estimate)
        )
    return group_estimate(found)


def with_one_judge(parts: Sequence[Part]) -> list[Part]:
    """Let the first model judge all runs for which no judge is named: models that judge themselves cannot be ranked."""
    first = parts[0].options.generator_model
    return [
        part
        if part.options.judge_model or part.options.generator_model == first
        else part._replace(
            options=msgspec.structs.replace(
                part.options, judge_model=first, command=_judged_by(first, part.options.command)
            )
        )
        for part in parts
    ]


def group_findings(members: Sequence[Member]) -> GroupFindings:
    """Findings about the runs of a group together."""
    return reports.group_findings(members)


def command_alone(command: CommandLine | None, own: Mapping[str, str]) -> CommandLine | None:
    """Return the command that starts one run of a group alone.

    Args:
        command: The command that starts the whole group.
        own: Flags of which each run has its own value, with this run's as it is typed.
    """
    if command is None:
        return None
    for flag, value in own.items():
        at = next((at for at, option in enumerate(command.options) if option[0] == flag), 0)
        after = [option for option in command.options[at:] if option[0] != flag]
        command = msgspec.structs.replace(command, options=(*command.options[:at], (flag, value), *after))
    return command


def _judged_by(judge: str, command: CommandLine | None) -> CommandLine | None:
    """The command that makes one run of a group alone, with the judge of the group."""
    if command is None:
        return None
    return msgspec.structs.replace(command, options=(*command.options, ("--judge-model", quoted_word(judge))))


async def check_models(parts: Sequence[Part], session: Session) -> None:
    """Raise an error if a model's name is wrong, or two names mean one model, whose runs would be paid for twice.

    Configurations of the release harness may share a model: they differ in its parameters.
    """
    seen: dict[str, str] = {}
    async with session.models() as models:
        for part in parts:
            named = part.options.generator_model
            model = str(models.name(named))
            if part.options.harness is None and (first := seen.setdefault(model, named)) != named:
                raise ConfigurationError(f"{first} and {named} are the same model, {model}. Name it once.")


async def _run_member(member: Member, run: RunRecord | str, session: Session) -> Member:
    began = time.monotonic()
    outcome = error = None
    try:
        outcome = await (resume_run(run, session) if isinstance(run, str) else begin_run(run, session))
    except PromptEvaluatorError as raised:
        error = raised
    return replace(member, outcome=outcome, error=error, seconds=time.monotonic() - began)


def _ends_the_group(done: Member) -> bool:
    """Whether the remaining runs cannot or may not be run. An error of one service does not affect others."""
    if done.outcome is None:
        return isinstance(done.error, StoreError)
    if done.outcome.record.status != "aborted":
        return False
    stopped_by = done.outcome.stopped_by
    return stopped_by is None or isinstance(stopped_by, (BudgetSpentError, StoreError))
