"""Whether the right tools were called, with the right arguments, in the right order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from prompt_evaluator.metrics.matching import Difference, check_matchers, differences
from prompt_evaluator.metrics.options import ExpectedTool, expected_tools_of, named
from prompt_evaluator.metrics.rule import Rule, Trial, listed, shown
from prompt_evaluator.model import Failed, Score, Scored, TestCase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import ToolCall
    from prompt_evaluator.ports import JudgeClient

Mode = Literal["exact", "ordered", "unordered", "any_order", "subset"]
Pairs = dict[int, int]
"""Maps position of an expected call to position of the matching call made."""

_IN_ORDER = ("exact", "ordered")
_NO_EXTRAS = ("exact", "unordered", "any_order")
_MOST_DIFFERENCES = 3


class RuleDecision(NamedTuple):
    """What the rules decide about the calls."""

    value: float
    best: float
    """The value if every undecided call were right."""
    undecided: list[tuple[ExpectedTool, ToolCall]]
    """Calls whose arguments differ only in texts, which may mean the same."""
    reason: str


class ToolCorrectness(Rule, frozen=True, kw_only=True):
    """The expected tools were called, with the expected arguments: the share of correct calls.

    The share is of the expected calls; if extra calls count (`exact`, `unordered`), it is of the calls made if there
    are more of them. If no call is expected, none may be made.
    """

    name: ClassVar[str] = "tool_correctness"
    needs: ClassVar[tuple[str, ...]] = ("expected_tools",)

    expected_tools: tuple[ExpectedTool | str, ...] | None = None
    """`{name, args}` or a name. Without `args`, any arguments match; values in `args` may be matchers."""
    mode: Mode = "ordered"
    """`exact`: only these calls, in this order. `ordered`: these calls in this order, with others allowed in between.
    `unordered` (or `any_order`): only these calls, in any order. `subset`: at least these calls, in any order."""
    use_judge: bool = False
    """Whether to ask a judge if arguments whose texts differ mean the same."""

    def __post_init__(self) -> None:
        for call in named(self.expected_tools or ()):
            check_matchers(call.args)

    @property
    def needs_judge(self) -> bool:
        return self.use_judge

    def missing(self, case: TestCase) -> str | None:
        return "the case lists no expected tools" if self._expected(case) is None else None

    def _expected(self, case: TestCase) -> tuple[ExpectedTool, ...] | None:
        return expected_tools_of(case) if self.expected_tools is None else named(self.expected_tools)

    async def apply(self, trial: Trial, judge: JudgeClient | None) -> Score:
        expected, made = self._expected(trial.case) or (), trial.answer.tool_calls
        try:
            decision = decide(expected, made, self.mode)
        except TimeoutError:
            return Failed("timed out: a `$regex` takes too long on the arguments", kind="TimedOut")
        if judge is not None and self.use_judge and decision.undecided:
            score = await _judged(decision, expected, trial, judge)
        else:
            score = Scored(decision.value, decision.reason, {"decided_by": "rules", "mode": self.mode})
        # If a case expects calls but gives no tool schemas, the model was offered schemas derived from those calls.
        derived = expected_tools_of(trial.case) and not trial.case.metadata.get("tools")
        return _noted(score, tools="derived") if derived else score


def _noted(score: Score, **notes: str) -> Score:
    return Scored(score.value, score.reason, {**score.details, **notes}) if isinstance(score, Scored) else score


async def _judged(decision: RuleDecision, expected: Sequence[ExpectedTool], trial: Trial, judge: JudgeClient) -> Score:
    """The judge's score, within the range that the rules leave open."""
    from prompt_evaluator.metrics.geval import judge_tools  # noqa: PLC0415 - not needed for rules alone
    from prompt_evaluator.metrics.judge_prompt import asked_text  # noqa: PLC0415 - not needed for rules alone

    score = await judge_tools(expected, trial.answer.tool_calls, judge, question=asked_text(trial.case))
    if not isinstance(score, Scored):
        return score
    value = min(max(score.value, decision.value), decision.best)
    details = {**score.details, "decided_by": "judge", "judged": score.value, "by_rules": decision.value}
    return Scored(value, "; ".join(filter(None, (decision.reason, score.reason))), details)


def decide(expected: Sequence[ExpectedTool], made: Sequence[ToolCall], mode: Mode) -> RuleDecision:
    """Compare the calls made with the expected calls.

    Raises:
        TimeoutError: A `$regex` among the arguments takes too long.
    """
    if not expected:
        reason = f"no call was expected; made: {listed(call.name for call in made)}" if made else ""
        return RuleDecision(0.0 if made else 1.0, 0.0 if made else 1.0, [], reason)
    wrong = [[_wrong(want, call) for call in made] for want in expected]
    fits = [[found == [] for found in row] for row in wrong]
    perhaps = [[found is not None and not any(each.decided for each in found) for found in row] for row in wrong]
    paired = _pair(fits, mode)
    total = max(len(expected), len(made)) if mode in _NO_EXTRAS else len(expected)
    rest = _Rest(expected, made, wrong, paired)
    undecided = [(expected[i], made[j]) for i, j in rest.misused.items() if perhaps[i][j]]
    return RuleDecision(
        len(paired) / total, len(_pair(perhaps, mode)) / total, undecided, rest.reason(extras=mode in _NO_EXTRAS)
    )


class _Rest:
    """Classifies the calls that are not correct: missing, misplaced, misused or extra."""

    def __init__(
        self,
        expected: Sequence[ExpectedTool],
        made: Sequence[ToolCall],
        wrong: list[list[list[Difference] | None]],
        paired: Pairs,
    ) -> None:
        self._expected, self._made, self._wrong = expected, made, wrong
        left = [j for j in range(len(made)) if j not in paired.values()]
        self.missing: list[int] = []
        self.misplaced: list[int] = []
        self.misused: Pairs = {}
        for i in (i for i in range(len(expected)) if i not in paired):
            if (j := next((j for j in left if wrong[i][j] == []), None)) is not None:
                self.misplaced.append(i)
            elif (j := next((j for j in left if wrong[i][j] is not None), None)) is not None:
                self.misused[i] = j
            else:
                self.missing.append(i)
                continue
            left.remove(j)
        self.extra = left

    def reason(self, *, extras: bool) -> str:
        parts = {
            "missing": listed(self._expected[i].name for i in self.missing),
            "wrong arguments": ", ".join(self._misuse(i, j) for i, j in self.misused.items()),
            "out of order": listed(self._expected[i].name for i in self.misplaced),
            "extra": listed(self._made[j].name for j in self.extra) if extras else "",
        }
        return "; ".join(f"{what}: {text}" for what, text in parts.items() if text)

    def _misuse(self, i: int, j: int) -> str:
        found = self._wrong[i][j] or []
        details = "; ".join(
            f"{each.path or 'arguments'}: expected {shown(each.expected)}, got {shown(each.actual)}"
            for each in found[:_MOST_DIFFERENCES]
        )
        more = f"; and {len(found) - _MOST_DIFFERENCES} more" if len(found) > _MOST_DIFFERENCES else ""
        return f"{self._expected[i].name!r} ({details}{more})"


def _wrong(want: ExpectedTool, call: ToolCall) -> list[Difference] | None:
    """The differences in the arguments; None if it is another tool."""
    if want.name != call.name:
        return None
    if want.args is None:
        return []
    if isinstance(call.arguments, str):  # not a JSON object
        return [Difference("", want.args, call.arguments, decided=True)]
    return list(differences(want.args, call.arguments))


def _pair(fits: list[list[bool]], mode: Mode) -> Pairs:
    return _in_order(fits) if mode in _IN_ORDER else _in_any_order(fits)


def _in_order(fits: list[list[bool]]) -> Pairs:
    """The longest common subsequence."""
    rows, columns = len(fits), len(fits[0]) if fits else 0
    longest = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            without = max(longest[i + 1][j], longest[i][j + 1])
            longest[i][j] = max(without, 1 + longest[i + 1][j + 1]) if fits[i][j] else without
    pairs: Pairs = {}
    i = j = 0
    while i < rows and j < columns:
        if fits[i][j] and longest[i][j] == 1 + longest[i + 1][j + 1]:
            pairs[i] = j
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _in_any_order(fits: list[list[bool]]) -> Pairs:
    """A maximum matching (Kuhn's algorithm): greedy pairing could leave a narrower expectation without a call."""
    taken: dict[int, int] = {}

    def find(i: int, seen: set[int]) -> bool:
        for j, fit in enumerate(fits[i]):
            if fit and j not in seen:
                seen.add(j)
                if j not in taken or find(taken[j], seen):
                    taken[j] = i
                    return True
        return False

    for i in range(len(fits)):
        find(i, set())
    return {i: j for j, i in taken.items()}
