"""What is said about two runs, beyond what the snapshots of `tests/cli` show: verdicts, what differs, flipped cases."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from comparisons import (
    BASELINE,
    CANDIDATE,
    case,
    compared_by,
    comparison,
    facts,
    flag,
    metric,
    missing,
    quiet_flag,
    same,
    slice_,
    too_few,
    undecided,
)

from prompt_evaluator.model.comparison import Change, Comparison
from prompt_evaluator.model.comparison_findings import ComparisonFindings
from prompt_evaluator.reports.comparison import comparison_findings

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


def found(compared: Comparison, **more: Any) -> ComparisonFindings:
    """Findings that also survive being written as JSON and read back."""
    made = comparison_findings(compared, compared_by(), **more)
    assert msgspec.json.decode(msgspec.json.encode(made), type=ComparisonFindings) == made
    return made


def of(metrics: dict[str, Any] | None = None, flags: dict[str, Any] | None = None, **more: Any) -> ComparisonFindings:
    return found(comparison(metrics, flags, **more))


class TestTheHeadline:
    def test_says_that_nothing_can_be_told_yet(self) -> None:
        said = of({"tone": undecided()})

        assert (said.mark, said.headline) == ("warning", "Cannot tell yet whether B differs from A on tone.")

    def test_names_flags_that_moved_with_their_shares(self) -> None:
        said = of({"tone": same()}, {"leaks_data": flag("worse"), "rude": flag("better", 0.2, 0.1)})

        assert said.mark == "bad"
        assert said.headline == (
            "B more often raises leaks_data (2 % → 9 %, p = 0.012); B less often raises rude (20 % → 10 %, p = 0.012); "
            "no difference seen on tone."
        )

    @pytest.mark.parametrize(("side", "letter"), [("baseline", "A"), ("candidate", "B")])
    def test_says_what_was_not_measured(self, side: str, letter: str) -> None:
        said = of({"tone": missing(side)})

        assert (said.mark, said.headline) == ("bad", f"{letter} was not measured on tone.")

    def test_counts_flags_and_metrics_that_were_not_measured_together(self) -> None:
        late = flag("worse", missing="candidate")
        said = of({name: missing() for name in "abc"}, {"rude": late, "late": late})

        assert said.headline == "B was not measured on a, b, c and 2 others."

    def test_of_nothing_says_so(self) -> None:
        assert of().headline == "Nothing can be compared: neither run has a score or a flag."
        assert [step.text for step in of().next_steps] == [
            "evaluate both with the same rubric or metrics, then compare again"
        ]

    def test_uses_the_letter_of_the_candidate(self) -> None:
        said = found(comparison({"tone": same()}), letter="C")

        assert said.headline == "No difference seen between A and C on tone."


class TestAMetric:
    def test_comes_earlier_the_worse_it_got(self) -> None:
        names = {"a": same(), "b": undecided(), "c": metric("better"), "d": metric("worse")}

        assert [each.name for each in of(names).metrics] == ["d", "c", "b", "a"]

    def test_that_more_samples_would_tell_says_how_many(self) -> None:
        (said,) = of({"tone": undecided(more_samples_needed=7)}).metrics

        assert said.notes[0].endswith("about 60 more cases would show 0.1 (or about 7 more samples per case)")

    def test_that_is_equal_in_every_case_is_not_said_to_be_equal_everywhere(self) -> None:
        (said,) = of({"tone": undecided(difference=0.0, wins=0, losses=0, ties=20, detectable=None)}).metrics

        assert said.notes[0].startswith("equal in all 20 cases, which does not rule out a difference; about 60 more")

    def test_that_really_differs_but_perhaps_too_little_says_so(self) -> None:
        (said,) = of({"tone": undecided(p_value=0.02, more_cases_needed=0)}).metrics

        assert said.notes == (
            "a real difference, but perhaps smaller than 0.1; more cases or samples would narrow the interval",
        )

    def test_with_too_few_cases_says_so_if_others_have_enough(self) -> None:
        said = {each.name: each for each in of({"tone": too_few(3), "clarity": same()}).metrics}

        assert said["tone"].text == "tone: cannot tell: 3 common cases; at least 5 are needed."

    def test_without_scores_that_can_be_compared_says_so(self) -> None:
        assert of({"tone": too_few(0)}).headline == (
            "Cannot tell: no case has scores in both runs that can be compared."
        )

    def test_that_seems_to_have_two_scales_is_not_called_a_difference(self) -> None:
        (said,) = of({"tone": undecided(difference=56.0, p_value=0.001, more_cases_needed=None)}).metrics

        assert said.text == "tone: cannot tell yet: the scores look like those of two different scales."

    def test_that_dropped_by_the_same_in_every_case_says_how_many_more_would_tell(self) -> None:
        flat = {"difference": -1.0, "p_value": 0.0625, "method": "exact_bound", "detectable": None}
        (said,) = of({"tone": undecided(**flat, cases=5, more_cases_needed=1)}).metrics

        assert said.notes == ("about 1 more case would tell",)

    def test_that_was_not_measured_on_one_side_counts_as_worse(self) -> None:
        (said,) = of({"tone": missing("candidate")}).metrics

        assert (said.mark, said.word, said.means) == ("bad", "not measured in B", "4.00 → none")
        assert said.notes == ("this counts as worse",)

    def test_is_written_with_the_digits_of_its_scale(self) -> None:
        (said,) = of({"exact": undecided(scale=(0.0, 1.0), threshold=0.025, detectable=0.0634)}).metrics

        assert said.difference == f"{MINUS}0.070"
        assert "differences of 0.063 or more show" in said.text
        assert "would show 0.025" in said.text

    @pytest.mark.parametrize(
        ("needed", "text"),
        [(1, "about 1 more case"), (20, "about 20"), (21, "about 25"), (137, "about 140"), (12_345, "about 13,000")],
    )
    def test_needs_a_number_of_cases_that_is_rounded_up(self, needed: int, text: str) -> None:
        (said,) = of({"tone": undecided(more_cases_needed=needed)}).metrics

        assert f"{text} " in said.notes[0]


class TestFlags:
    def test_that_moved_are_listed_and_the_others_are_one_line(self) -> None:
        said = of(flags={"leaks_data": flag("worse"), **{f"f{at}": quiet_flag() for at in range(5)}})

        assert [each.name for each in said.flags] == ["leaks_data"]
        assert said.other_flags == "5 other flags: no difference seen"

    def test_that_differ_beyond_chance_are_listed_even_without_a_verdict(self) -> None:
        said = of(flags={"rude": flag("inconclusive", p_value=0.03)})

        assert [each.name for each in said.flags] == ["rude"]


class TestWhatDiffers:
    def test_keeps_a_removed_line_of_dashes(self) -> None:
        (said,) = of(differs={"prompt": Change(baseline="", candidate="", diff="@@ -1 +1 @@\n--- \n+***")}).differs

        assert said.diff == ("@@ -1 +1 @@", "--- ", "+***")

    def test_is_said_with_both_values(self) -> None:
        changes = {
            "model": Change(baseline="gpt-4o", candidate="gpt-4.1"),
            "parameters.temperature": Change(baseline=None, candidate=0.2),
            "judge_parameters.seed": Change(baseline=1, candidate=2),
            "samples": Change(baseline=5, candidate=10),
            "judge": Change(baseline="a" * 64, candidate=f"sha256:{'b' * 64}"),
        }

        assert [(each.label, each.text) for each in of(differs=changes).differs] == [
            ("model", "gpt-4o → gpt-4.1"),
            ("temperature", "not set → 0.2"),
            ("judge's seed", "1 → 2"),
            ("samples per case", "5 → 10"),
            ("judge", f"{'a' * 12} → {'b' * 12}"),
        ]

    @pytest.mark.parametrize(
        ("before", "after", "text"),
        [
            ("mock|://", "openai|https://example.test/v1", "mock → openai at https://example.test/v1"),
            ("python|://|code:17c6e003ce21d157", None, "python, code 17c6e003 → not set"),
            ("elsewhere", 7, "elsewhere → 7"),
        ],
    )
    def test_of_services_says_where_they_are(self, before: Any, after: Any, text: str) -> None:
        change = Change(baseline=before, candidate=after)
        (said,) = of(differs={"judge_parameters.service": change}).differs

        assert (said.label, said.text) == ("judge's service", text)

    def test_of_long_values_is_cut(self) -> None:
        (said,) = of(differs={"parameters.stop": Change(baseline="x\n" * 500, candidate="")}).differs

        assert said.text == f"{' '.join('x' * 40)} … → empty"

    def test_may_be_nothing(self) -> None:
        assert of(differs={}).no_difference == "nothing that is known"
        assert of().no_difference is None


class TestAmounts:
    def test_that_doubled_are_a_ratio(self) -> None:
        said = of(candidate=facts(CANDIDATE, latency_ms=3_968.0))

        assert said.amounts[-1].text == "1.2 s → 4.0 s per answer (× 3.2)"

    def test_that_one_run_does_not_know_are_unknown(self) -> None:
        said = of(baseline=facts(samples=None), candidate=facts(CANDIDATE))

        assert said.amounts[0].text == "unknown → $0.0031 per sample"

    def test_say_the_cost_even_if_it_is_nothing_or_not_known(self) -> None:
        free, unpriced = facts(cost=0.0), facts(cost=None)

        assert of(baseline=free, candidate=free).amounts[0].text == "$0 per sample in both"
        assert of(baseline=unpriced, candidate=unpriced).amounts[0].text == "unknown in both"

    def test_that_nobody_knows_are_left_out(self) -> None:
        nothing = facts(samples=None, cost=None, latency_ms=None)

        assert of(baseline=nothing, candidate=nothing).amounts == ()

    def test_of_errors_say_which(self) -> None:
        said = of(candidate=facts(CANDIDATE, failed_samples=5, errors={"RateLimitedError": 5}))

        assert (said.amounts[0].label, said.amounts[0].mark) == ("Errors", "warning")
        assert said.amounts[0].text == "0 % → 2 % of samples have no score (B: 5 rate limited)"


class TestFlippedCases:
    def test_are_looked_for_only_as_far_as_needed(self) -> None:
        class Counting(list[Any]):
            made = 0

            def __getitem__(self, at: Any) -> Any:
                self.made += 1
                return super().__getitem__(at)

        cases = Counting([case("drop"), *(case(f"c{at}", "same") for at in range(1_000)), case("gain", "better")])
        classes = {"worse": 1, "better": 1, "same": 1_000}
        found(comparison({"correctness": metric("worse", case_classes=classes)}, cases=cases))

        assert cases.made == 2

    def test_cannot_be_found_with_one_sample_per_case(self) -> None:
        said = of({"tone": metric("worse", case_classes={"too_few": 50})}).flipped

        assert said.text == "no single case can be judged: that takes the scores of three samples in each run"


class TestSlices:
    def test_that_do_not_stand_out_are_one_line(self) -> None:
        said = of({"correctness": same()}, slices=(slice_("billing", "inconclusive"),), slice_comparisons=3).slices

        assert said is not None
        assert (said.slices, said.text) == ((), "3 slices × metrics compared; none stands out")

    def test_that_are_too_small_are_not_passed_over_in_silence(self) -> None:
        said = of({"correctness": same()}, slices=(slice_("billing", "inconclusive"),), slice_comparisons=0).slices

        assert said is not None
        assert (said.slices, said.text) == ((), "none is compared: that takes five cases of a slice in both runs")

    def test_are_not_mentioned_if_there_are_none(self) -> None:
        assert of().slices is None


def test_a_run_is_described_by_what_is_known_of_it() -> None:
    said = of(
        baseline=facts(tags={"branch": "main"}, status="partial"),
        candidate=facts(
            "other/dataset_evaluation.json", generator_model=None, dataset_name=None, cases=None, prompt_version=None
        ),
    )

    assert said.baseline.text == "gpt-4o on support, prompt v1, 50 cases × 5 samples, partial, branch=main"
    assert (said.candidate.name, said.candidate.text) == ("other/dataset_evaluation.json", "unknown model")
    assert (said.baseline.name, said.baseline.letter, said.candidate.letter) == (BASELINE, "A", "B")
