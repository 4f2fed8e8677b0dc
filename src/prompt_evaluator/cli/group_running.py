"""Runs a group of evaluations and prints every summary and the table of all, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from prompt_evaluator.app.documents import run_document
from prompt_evaluator.app.groups import estimate_group, group_findings, run_group
from prompt_evaluator.cli.group_estimate import print_group_estimate
from prompt_evaluator.cli.group_table import print_group, print_title
from prompt_evaluator.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.group import Member


def print_estimates(command: RunCommand, parts: Sequence[Part]) -> None:
    """Print what each run and all of them together would take."""
    found = command.wait_for(estimate_group(parts, command.session))
    print_json(found) if command.as_json else print_group_estimate(found)


def run_parts(command: RunCommand, parts: Sequence[Part]) -> list[Member]:
    """Run the group and return how each run ended."""

    async def run() -> list[Member]:
        return [member async for member in run_group(parts, command.session)]

    return command.wait_for(run())


def group_document(members: Sequence[Member]) -> dict[str, Any]:
    """Return the runs and the findings about all of them, for `--json`."""
    runs = [run_document(member.outcome) for member in members if member.outcome]
    return {"runs": runs, "group": group_findings(members)}


def conclude_group(command: RunCommand, members: Sequence[Member]) -> int:
    """Print every summary and the group's table, or JSON, and return the worst exit code."""
    if command.as_json:
        print_json(group_document(members))
    return conclude_members(command, members)


def conclude_members(command: RunCommand, members: Sequence[Member]) -> int:
    """Print every summary and the group's table, unless JSON is wanted, and what went wrong; return the exit code."""
    codes = [0]
    for member in members:
        if member.outcome:
            if not command.as_json:
                print_title(member)
            codes.append(command.conclude(member.outcome))
        elif member.error:
            between = "on" if member.prompt is None else "with"
            click.echo(f"Error: {member.model} {between} {member.subject}: {member.error}", err=True)
            codes.append(member.error.exit_code)
    if len(members) > 1 and not command.as_json:
        print_group(group_findings(members))
    if left := [f"{member.subject} with {member.model}" for member in members if not member.seconds]:
        names = ", ".join(left)
        click.echo(f"Not started, because an earlier run stopped the group: {names}. Run these again.", err=True)
    return max(codes)
