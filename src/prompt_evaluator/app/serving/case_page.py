"""Everything that the page of one case shows, and where the case is in the list that the reader came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.run_cases import show_case
from prompt_evaluator.app.serving.answer_views import AnswerView, answer_view
from prompt_evaluator.app.serving.case_answers import AnswerGroup, answer_groups, sample_kind
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import RunRecord, TestCase
from prompt_evaluator.model.case_filter import read_filter
from prompt_evaluator.model.query import CaseLine, Neighbours
from prompt_evaluator.model.wording import kind as kind_in_words
from prompt_evaluator.model.wording import listed, many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.app.run_cases import WholeCase
    from prompt_evaluator.app.serving.case_changes import CaseChanges
    from prompt_evaluator.app.stores import ServedSettings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.case_api import CasePageQuery
    from prompt_evaluator.model.query import CaseQuery, RunLine, SampleLine

MOST_GROUPS = 40
"""Different answers on one page; the others are linked."""
_SHOWN, _FOLDED = 900, 60_000
"""Characters of answers that are shown at once, each, and that can be unfolded, all together."""
_WHOLE = 400_000
"""Characters of an answer that is shown alone."""


class Orders(Protocol):
    """Keeps the order of cases of runs that have ended."""

    def get(self, key: Any, make: Callable[[], Sequence[int]], *, keep: bool) -> Sequence[int]: ...


class List(NamedTuple):
    """What is known about the list that the reader came from."""

    orders: Orders
    changes: CaseChanges


class Badge(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a case, in two words."""

    kind: Literal["fail", "flaky", "flag", "error", "pending"]
    text: str
    about: str
    filter: str
    """Finds all cases of the run with the same."""


class Tick(msgspec.Struct, frozen=True):
    """One sample on the axis of a metric."""

    sample: int
    """Starts at 1."""
    card: int
    """The first sample of its group."""
    value: float | None
    kind: Literal["pass", "fail", "error"]


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A metric, and where each sample is on it."""

    name: str
    low: float
    high: float
    digits: int
    mean: float | None
    std: float | None
    count: int
    passes: int
    missing: int
    ticks: tuple[Tick, ...]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A group of samples with the same answer, and how to show that answer."""

    group: AnswerGroup
    view: AnswerView | None
    """None without an answer, and if it is what the others are compared with."""


class Against(msgspec.Struct, frozen=True):
    """A text that answers can be compared with."""

    name: str
    """As in the address."""
    title: str


class CasePage(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows."""

    record: RunRecord
    run: str
    """The run in a few words."""
    case: TestCase
    line: CaseLine
    badges: tuple[Badge, ...]
    axes: tuple[Axis, ...]
    cards: tuple[Card, ...]
    summary: str
    """How many samples and different answers there are, including those that are not shown."""
    others: tuple[int, ...]
    """Samples whose cards are not shown."""
    samples: int
    """How many have been answered, or failed."""
    against: tuple[Against, ...]
    """What a difference can be to."""
    compared: Against | None
    """What it is to."""
    list: Neighbours
    problem: str | None
    """Why the filter cannot be used."""


def case_page(settings: ServedSettings, run_id: str, case_id: str, query: CasePageQuery, within: List) -> CasePage:
    """One case of a run with its samples, and its place in a list.

    Raises:
        UnknownNameError: There is no such run, case or sample.
    """
    whole = show_case(settings, run_id, case_id)
    store, plan, line = settings.opened, whole.record.plan, whole.view.line
    samples = whole.view.samples or ()
    groups = answer_groups(plan, whole.case, samples)
    choices = _choices(whole.case, groups)
    compared = _compared(query, choices)
    wanted = _wanted(groups, query.sample, samples)
    run = store.run_line(plan.run_id)
    order, problem = _order(settings, run, plan, query, within)
    return CasePage(
        record=whole.record,
        run=f"{run.dataset_name or 'cases'} × {plan.target.model}",
        case=whole.case,
        line=line,
        badges=tuple(_badges(line, plan.num_samples, len(samples))),
        axes=tuple(_axes(whole, groups)),
        cards=tuple(_cards(wanted, query, compared, choices)),
        summary=_summary(groups),
        others=tuple(group.number for group in groups if group not in wanted),
        samples=len(samples),
        against=tuple(Against(name, title) for name, (title, _) in choices.items()),
        compared=Against(compared, choices[compared][0]) if compared else None,
        list=store.neighbours(plan.run_id, case_id, order),
        problem=problem,
    )


def _summary(groups: Sequence[AnswerGroup]) -> str:
    samples = sum(len(group.samples) for group in groups)
    answers = [group for group in groups if group.answer is not None]
    unanswered = samples - sum(len(group.samples) for group in answers)
    if samples > 1 and len(answers) == 1 and not unanswered:
        return f"{samples} samples, all alike"
    parts = [many(samples, "sample")]
    if len(answers) > 1:
        parts.append(f"{len(answers)} different answers")
    if unanswered:
        parts.append(f"{unanswered} without an answer")
    return ", ".join(parts)


def _order(
    settings: ServedSettings, line: RunLine, plan: RunPlan, query: CasePageQuery, within: List
) -> tuple[Sequence[int], str | None]:
    """The positions of the cases in the list; the whole dataset if the filter cannot be used."""
    measured = line.summary.overall_metric_stats if line.summary else {}
    criteria = plan.rubric.metrics if plan.rubric else ()
    names = {*measured, *(each.name for each in criteria), *(use.key for use in plan.metrics)}

    def order(text: str, sort: str) -> Sequence[int]:
        found = read_filter(text, names)
        plain = found.query(plan.run_id, sort=sort.removeprefix("-"), descending=sort.startswith("-"))
        asked: CaseQuery = within.changes.narrowed(plain, found)
        key = (asked, line.ended_at)
        return within.orders.get(key, lambda: settings.opened.case_order(asked), keep=line.ended_at is not None)

    try:
        return order(query.q, query.sort), None
    except ConfigurationError as error:
        return order("", "position"), str(error)


def _badges(line: CaseLine, planned: int, samples: int) -> list[Badge]:
    found = []
    failing = {name: each for name, each in line.metrics.items() if each.count and each.passes * 2 < each.count}
    if line.failing and failing:
        worst = min(failing.values(), key=lambda each: each.passes / each.count)
        about = f"Fewer than half of the samples pass on {listed(failing)}."
        found.append(Badge(kind="fail", text=f"failing {worst.passes}/{worst.count}", about=about, filter="failing"))
    varying = {name: each for name, each in line.metrics.items() if 0 < each.passes < each.count}
    if line.flaky and varying:
        name, most = max(varying.items(), key=lambda item: min(item[1].passes, item[1].count - item[1].passes))
        about = f"{most.passes} of {most.count} samples pass on {name}."
        found.append(Badge(kind="flaky", text=f"flaky {most.passes}/{most.count}", about=about, filter="flaky"))
    for name, flag in line.flags.items():
        if flag.raised:
            about = f"{flag.raised} of {many(flag.asked, 'sample')} raised the flag {name}."
            found.append(
                Badge(kind="flag", text=f"{name} {flag.raised}/{flag.asked}", about=about, filter=f"flag:{name}")
            )
    for kind in line.error_kinds:
        about = line.error_message or "A sample has no answer or no score."
        found.append(Badge(kind="error", text=kind_in_words(kind), about=about, filter=f"error:{kind}"))
    if samples < planned:
        text = f"{planned - samples} of {planned} samples not done" if samples else "not answered yet"
        about = "The run has not finished this case."
        found.append(Badge(kind="pending", text=text, about=about, filter="status:pending"))
    return found


def _axes(whole: WholeCase, groups: Sequence[AnswerGroup]) -> list[Axis]:
    card = {number: group.number for group in groups for number in group.numbers}
    found = []
    for name, stats in whole.view.line.metrics.items():
        scale = whole.record.plan.scale(name)
        ticks = [_tick(sample, name, card) for sample in whole.view.samples or () if _concerns(sample, name)]
        found.append(
            Axis(
                name=name,
                low=scale.low,
                high=scale.high,
                digits=digits((scale.low, scale.high)),
                mean=stats.mean,
                std=stats.std,
                count=stats.count,
                passes=stats.passes,
                missing=stats.missing,
                ticks=tuple(ticks),
            )
        )
    return found


def _concerns(sample: SampleLine, metric: str) -> bool:
    """Whether a sample has, or should have, a score on the metric."""
    score = sample.scores.get(metric)
    return score.outcome != "skipped" if score else sample.status != "completed"


def _tick(sample: SampleLine, metric: str, card: dict[int, int]) -> Tick:
    score = sample.scores.get(metric)
    number = sample.sample + 1
    return Tick(number, card[number], score.value if score else None, sample_kind(sample, metric))


def _choices(case: TestCase, groups: Sequence[AnswerGroup]) -> dict[str, tuple[str, str]]:
    """The title and the text of everything that answers can be compared with, by name."""
    found = {}
    for number, text in enumerate(case.all_references, 1):
        name = "reference" if number == 1 else f"reference-{number}"
        found[name] = (name.replace("-", " "), text)
    if len(groups) > 1:
        for group in sorted(groups[:MOST_GROUPS], key=lambda group: group.number):
            if group.answer is not None:
                found[f"sample-{group.number}"] = (f"sample {group.number}", group.answer)
    return found


def _compared(query: CasePageQuery, choices: dict[str, tuple[str, str]]) -> str | None:
    if query.view != "diff":
        return None
    return query.against if query.against in choices else next(iter(choices), None)


def _wanted(groups: list[AnswerGroup], number: int | None, samples: Sequence[SampleLine]) -> list[AnswerGroup]:
    if number is None:
        return groups[:MOST_GROUPS]
    if found := [group for group in groups if number in group.numbers]:
        return found
    raise UnknownNameError("sample", str(number), [str(each.sample + 1) for each in samples])


def _cards(
    groups: Sequence[AnswerGroup], query: CasePageQuery, compared: str | None, choices: dict[str, tuple[str, str]]
) -> list[Card]:
    alone = query.sample is not None
    shown = _WHOLE if alone else _SHOWN
    folded = 0 if alone else _FOLDED // max(1, len(groups))
    other = choices[compared][1] if compared else None
    found = []
    for group in groups:
        is_other = compared == f"sample-{group.number}"
        form = "text" if is_other else query.view
        view = None
        if group.answer is not None:
            view = answer_view(group.answer, form, other, shown=shown, folded=folded)
        found.append(Card(group=group, view=view))
    return found
