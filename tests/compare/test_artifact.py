"""Runs read from a `dataset_evaluation.json`, made here or elsewhere."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.compare.artifact import read_artifact
from prompt_evaluator.errors import InputError
from prompt_evaluator.model.comparison import CaseScores
from prompt_evaluator.model.query import CaseFlag

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import ComparedCase
    from prompt_evaluator.ports import ComparedRun

PATH = Path("elsewhere/dataset_evaluation.json")
DOCUMENTED = {
    "run_id": "uuid",
    "dataset_path": "/data/tea.yaml",
    "dataset_hash": "sha256:AB12",
    "dataset_count": 100,
    "num_samples_per_case": 3,
    "status": "completed",
    "timestamp_start": "2026-01-01T00:00:00Z",
    "timestamp_end": None,
    "system_prompt_path": "prompt.txt",
    "generator_config": {"model": "gpt", "temperature": 1},
    "judge_config": {"model_name": "judge"},
    "rubric_metadata": {"rubric_hash": "sha256:cd"},
    "overall_metric_stats": {"clarity": {"mean_of_means": 4.0}},
    "overall_flag_stats": {},
}
"""The keys that the dataset guide documents, and nothing else."""


def artifact(*cases: dict[str, Any], **head: Any) -> bytes:
    return json.dumps({**DOCUMENTED, **head, "test_case_results": list(cases)}).encode()


def read(*cases: dict[str, Any], **head: Any) -> ComparedRun:
    return read_artifact(PATH, artifact(*cases, **head))


def only_case(**fields: Any) -> ComparedCase:
    (case,) = read({"test_case_id": "a", **fields}).find(["a"]).values()
    return case


def with_samples(*scores: Any, **fields: Any) -> dict[str, Any]:
    samples = [{"status": "completed", "judge_metrics": {"clarity": score}} for score in scores]
    return {"test_case_id": "a", "samples": samples, **fields}


def refusal(data: bytes, path: Path = PATH) -> InputError:
    with pytest.raises(InputError) as refused:
        read_artifact(path, data)
    assert str(refused.value).startswith(str(path))
    return refused.value


def test_the_documented_keys_are_enough() -> None:
    stats = {"mean": 4, "std": None, "min": 3, "max": 5, "count": 3}
    flags = {"rude": {"true_count": 1, "false_count": 2, "total_count": 3, "true_proportion": 0.33}}
    run = read({"test_case_id": "a", "per_metric_stats": {"clarity": stats}, "per_flag_stats": flags})

    facts = run.facts
    ((case,),) = run.batches()

    assert (facts.name, facts.path, facts.run_id, facts.status) == (str(PATH), str(PATH), "uuid", "completed")
    assert (facts.dataset_name, facts.dataset_hash, facts.rubric_hash) == ("tea", "ab12", "cd")
    assert (facts.generator_model, facts.judge_model, facts.num_samples, facts.cases) == ("gpt", "judge", 3, 1)
    assert (facts.parameters, facts.judge_parameters) == ({"temperature": 1}, {})
    assert (facts.prompt_path, facts.prompt_text, facts.judge_hash, facts.metric_definitions) == (
        "prompt.txt",
        *[None] * 3,
    )
    assert (facts.errors, facts.samples, facts.cost, facts.latency_ms, facts.synthetic) == (None,) * 5
    assert case.scores == {"clarity": CaseScores(4.0, None, 3, None, 0, None)}
    assert case.flags == {"rude": CaseFlag(raised=1, asked=3)}
    assert (case.content_hash, case.input_hash, case.metadata) == (None, None, {})


def test_samples_are_enough_too_with_scores_as_objects_or_plain_numbers() -> None:
    samples = [
        {"judge_metrics": {"clarity": {"score": 5, "rationale": "fine"}}, "judge_flags": {"rude": True}},
        {"judge_metrics": {"clarity": 2}, "judge_flags": {"rude": False, "leaks": None}},
        {"judge_metrics": {"clarity": {"score": None}}, "judge_flags": None},
        {"judge_metrics": None},
    ]

    case = only_case(samples=samples)

    assert case.scores == {"clarity": CaseScores(3.5, 4.5**0.5, 2, None, 2, (5.0, 2.0))}
    assert case.flags == {"rude": CaseFlag(raised=1, asked=2)}


def test_stated_statistics_count_and_samples_that_do_not_add_up_to_them_are_not_used() -> None:
    stated = {"clarity": {"mean": 4.33, "std": 0.5, "count": 3}}

    assert only_case(**with_samples(4, 4, 5), per_metric_stats=stated).scores["clarity"] == CaseScores(
        4.33, 0.5, 3, None, 0, (4.0, 4.0, 5.0)
    )
    assert only_case(**with_samples(4, 5), per_metric_stats=stated).scores["clarity"].values is None


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({}, 1),
        ({"num_samples": 4}, 4),
        ({"samples": [{}, {}]}, 2),
        ({"samples": [{"judge_metrics": {"clarity": 4}}, {}]}, 1),
    ],
)
def test_a_missing_count_is_the_number_of_scores_or_of_samples_or_1(fields: dict[str, Any], count: int) -> None:
    assert only_case(per_metric_stats={"clarity": {"mean": 4}}, **fields).scores["clarity"].count == count


def test_a_plain_number_is_a_mean_and_a_metric_without_scores_is_left_out() -> None:
    case = only_case(
        per_metric_stats={
            "clarity": 4,
            "empty": None,
            "none": {"mean": None, "count": 0},
            "zero": {"mean": 0.0, "count": 0},
        }
    )

    assert list(case.scores) == ["clarity"]


def test_passes_are_counted_only_if_every_score_says_whether_it_passes() -> None:
    passing = [{"score": 5, "passed": True}, {"score": 1, "passed": False}]

    assert only_case(**with_samples(*passing)).scores["clarity"].passes == 1
    assert only_case(**with_samples(*passing, 5)).scores["clarity"].passes is None
    assert only_case(per_metric_stats={"clarity": {"mean": 3, "count": 2, "passed": 2}}).scores["clarity"].passes == 2


def test_scores_that_should_be_there_are_missing_as_stated_or_as_counted() -> None:
    stats = {"clarity": {"mean": 4, "count": 2}}

    assert only_case(per_metric_stats=stats, missing_scores={"clarity": 5}).scores["clarity"].missing == 5
    assert only_case(per_metric_stats=stats, missing_scores={}).scores["clarity"].missing == 0
    assert only_case(per_metric_stats=stats).scores["clarity"].missing == 1
    assert only_case(per_metric_stats=stats, num_samples=7).scores["clarity"].missing == 5


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({"true_count": 2, "total_count": 4}, (2, 4)),
        ({"true_count": 2, "false_count": 3}, (2, 5)),
        ({"true_proportion": 0.5}, (1, 2)),
        ({"true_count": 9, "total_count": 4}, (1, 2)),
        ({}, (1, 2)),
        (None, (1, 2)),
    ],
)
def test_flags_are_counted_from_whatever_is_there(stated: Any, expected: tuple[int, int]) -> None:
    samples = [{"judge_flags": {"rude": True}}, {"judge_flags": {"rude": False}}]

    flag = only_case(samples=samples, per_flag_stats={"rude": stated}).flags["rude"]

    assert (flag.raised, flag.asked) == expected


def test_failed_pending_and_empty_cases_have_no_scores() -> None:
    run = read(
        {"test_case_id": "failed", "status": "failed", "samples": [], "per_metric_stats": {}},
        {"test_case_id": "pending", "status": "pending"},
        {"test_case_id": "nulls", "samples": None, "per_metric_stats": None, "per_flag_stats": None},
    )

    assert [(case.case_id, case.scores, case.flags) for batch in run.batches() for case in batch] == [
        ("failed", {}, {}),
        ("pending", {}, {}),
        ("nulls", {}, {}),
    ]
    assert run.answers("failed") == []


def test_a_file_without_any_cases_is_a_run_without_cases() -> None:
    run = read()

    assert (list(run.case_ids()), list(run.batches()), run.facts.cases, run.facts.scales) == ([], [], 0, {})


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ((0, 0.5, 1), (0.0, 1.0)),
        ((1, 3, 5), (1.0, 5.0)),
        ((2, 8.5), (1.0, 10.0)),
        ((-3, 2.5), (-3.0, 3.0)),
        ((0, 5), (0.0, 5.0)),
        ((0, 7), (0.0, 10.0)),
        ((31.5, 85.4), (0.0, 100.0)),
        ((20, 250.5), (0.0, 251.0)),
        ((250, 250), (0.0, 250.0)),
        ((-3, -3), (-3.0, 0.0)),
    ],
)
def test_the_scale_of_a_metric_is_guessed_from_its_scores_and_the_guess_is_admitted(
    values: tuple[float, ...], scale: tuple[float, float]
) -> None:
    facts = read(with_samples(*values)).facts

    assert facts.scales == {"clarity": scale}
    assert facts.guessed_scales == ("clarity",)


def test_a_rubric_in_the_file_states_the_scales_and_scores_outside_it_widen_them() -> None:
    metrics = [{"name": "clarity", "min_score": 0, "max_score": 10, "new": 1}, {"name": "depth"}, "odd"]
    rubric = {"rubric_metadata": {"name": "house", "metrics": metrics}}

    inside, outside = (read(with_samples(value), **rubric).facts for value in (3, 12))

    assert (inside.scales, inside.guessed_scales) == ({"clarity": (0.0, 10.0)}, ())
    assert (outside.scales, outside.guessed_scales) == ({"clarity": (0.0, 12.0)}, ("clarity",))
    assert inside.rubric_name == "house"
    assert "  - name: depth" in (inside.rubric_text or "").splitlines()


def test_stated_overall_scales_and_metrics_outside_the_rubric_are_no_guess() -> None:
    samples = [
        {"scores": {"exact": {"status": "scored", "score": 1.0}, "skipped": {"status": "skipped", "score": None}}}
    ]
    run = read(
        {"test_case_id": "a", "samples": samples, "per_metric_stats": {"custom": 4}},
        overall_metric_stats={"custom": {"scale": [0, 7]}},
        metrics_config=[{"metric": "length"}],
    )

    assert run.facts.scales == {"custom": (0.0, 7.0), "length": (0.0, 1.0), "exact": (0.0, 1.0), "skipped": (0.0, 1.0)}
    assert run.facts.guessed_scales == ()


def test_errors_are_counted_by_class_or_else_by_status() -> None:
    statuses = ("completed", "judge_error", "generation_error", "generation_error", "pending")
    samples = [{"status": status} for status in statuses]
    samples[2]["error"] = {"kind": "TimedOutError", "message": "late"}  # type: ignore[assignment]

    facts = read({"test_case_id": "a", "samples": samples}).facts

    assert (facts.samples, facts.failed_samples) == (4, 3)
    assert facts.errors == {"judge_error": 1, "TimedOutError": 1, "generation_error": 1}


def test_answers_are_shown_with_reasons_flags_and_errors() -> None:
    samples = [
        {
            "generator_output": "Steep it.",
            "judge_metrics": {"clarity": {"score": 4, "rationale": "clear"}, "depth": 2},
            "scores": {"exact": {"score": None, "reason": "no reference"}},
            "judge_flags": {"rude": True, "leaks": False},
        },
        {"generator_output": None, "error": {"kind": "X", "message": "no answer"}},
        {"generator_output": ["odd"], "error": "plain text"},
    ]
    run = read({"test_case_id": "a", "samples": samples})

    first, second, third = run.answers("a")

    assert (first.sample, first.answer, first.error, first.flags) == (0, "Steep it.", None, ("rude",))
    assert first.scores == {"clarity": 4, "depth": 2}
    assert first.reasons == {"clarity": "clear", "exact": "no reference"}
    assert (second.answer, second.error, third.answer, third.error) == (None, "no answer", None, "plain text")
    assert run.answers("nobody") == []


def test_a_changed_input_is_noticed_between_files() -> None:
    first, same, other, unknown = (
        only_case(**fields)
        for fields in ({"test_case_input": "x"}, {"test_case_input": "x"}, {"test_case_input": "y"}, {})
    )

    assert first.is_changed(other)
    assert not first.is_changed(same)
    assert not first.is_changed(unknown)


def test_fields_of_any_other_type_are_unknown_and_no_error() -> None:
    others = ("tags", "totals", "judge_configs", "metrics_config", "system_prompt")
    odd: dict[str, Any] = {key: [1, {"a": 2}] for key in (*DOCUMENTED, *others)}
    run = read({"test_case_id": "a", "test_case_metadata": 3, "unknown": {"x": []}}, **odd)

    facts = run.facts
    assert (facts.run_id, facts.dataset_hash, facts.generator_model, facts.tags) == (None, None, None, {})


def test_a_byte_order_mark_is_skipped() -> None:
    assert read_artifact(PATH, b"\xef\xbb\xbf" + artifact()).facts.cases == 0


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "The file is empty. Give the dataset_evaluation.json of a run."),
        (b"not json", "Invalid JSON at line 1"),
        (b'{"test_case_results": [', "it ends in the middle of a value"),
        (b'{"test_case_results": []}\n{}', "more than one value"),
        (b"[]", "The file is a list, not an object. Give the dataset_evaluation.json of a run."),
        (b"3", "The file is a number, not an object"),
        (b"{}", "The file has no `test_case_results`"),
        (b'{"test_case_results": {"a": 1}}', "`test_case_results` is an object, not a list"),
        (b'{"test_case_results": [3]}', "The case at position 1 is a number, not an object"),
        (b'{"test_case_results": [{"status": "completed"}]}', "The case at position 1 has no `test_case_id`"),
        (b'{"test_case_results": [{"test_case_id": ""}]}', "The case at position 1 has no `test_case_id`"),
        (b'{"test_case_results": [{"test_case_id": 7}]}', "a number instead of a text in `test_case_id`"),
        (b'{"test_case_results": [{"test_case_id": NaN}]}', "NaN is not a JSON value"),
        (b'{"totals": {"cost": 1e999}, "test_case_results": []}', "the number 1e999 is too large"),
        (b"\xff\xfe{\x00}\x00", "encoded as UTF-16"),
        (b"\x1f\x8b\x08\x00", "compressed. Decompress it with gunzip"),
        (b'{"run_id": "\xff", "test_case_results": []}', "is not UTF-8"),
        (b'{"run_id": "\\ud800", "test_case_results": []}', "lone surrogate"),
    ],
)
def test_what_is_not_a_run_is_refused_with_what_it_is(data: bytes, says: str) -> None:
    assert says in str(refusal(data))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (
            '"per_metric_stats": {"x": {"mean": 4}, "clarity": {"mean": "4"}}',
            "a text instead of a number in `per_metric_stats.clarity.mean`",
        ),
        ('"per_metric_stats": {"clarity": {"mean": 1e999}}', "out of range in `per_metric_stats.clarity.mean`"),
        (
            '"per_metric_stats": {"x": {"mean": -4}, "clarity": {"mean": 1e308}}',
            "out of range in `per_metric_stats.clarity.mean`",
        ),
        (
            '"samples": [{"judge_metrics": {"clarity": {"score": -1e308}}}]',
            "out of range in `samples[0].judge_metrics.clarity.score`",
        ),
        (
            '"per_metric_stats": {"clarity": {"mean": 4, "count": -1}}',
            "out of range in `per_metric_stats.clarity.count`",
        ),
        (
            '"per_metric_stats": {"clarity": {"mean": 4, "count": 2.5}}',
            "a number instead of a whole number in `per_metric_stats.clarity.count`",
        ),
        ('"per_metric_stats": [4]', "a list instead of an object in `per_metric_stats`"),
        (
            '"samples": [{}, {"judge_metrics": {"clarity": {"score": "5"}}}]',
            "a text instead of a number in `samples[1].judge_metrics.clarity.score`",
        ),
        (
            '"samples": [{"judge_metrics": {"clarity": [5]}}]',
            "a list instead of a number in `samples[0].judge_metrics.clarity`",
        ),
        (
            '"samples": [{"judge_metrics": {"clarity": true}}]',
            "true or false instead of a number in `samples[0].judge_metrics.clarity`",
        ),
        (
            '"samples": [{"judge_flags": {"rude": "yes"}}]',
            "a text instead of true or false in `samples[0].judge_flags.rude`",
        ),
        ('"samples": {"a": 1}', "an object instead of a list in `samples`"),
    ],
)
def test_a_wrong_value_is_named_with_its_case_and_its_field(fields: str, says: str) -> None:
    error = refusal(
        f'{{"test_case_results": [{{"test_case_id": "fine"}}, {{"test_case_id": "tea", {fields}}}]}}'.encode()
    )

    assert "Case 'tea' has " in str(error)
    assert says in str(error)
    assert (error.index, error.advice) == (1, "Correct the file, or have it written again.")


def test_two_cases_with_one_id_are_refused_with_both_positions() -> None:
    error = refusal(artifact({"test_case_id": "a"}, {"test_case_id": "b"}, {"test_case_id": "a"}))

    assert "Two cases have the id 'a' (at positions 1 and 3). Give each case an id of its own." in str(error)


@pytest.mark.parametrize(
    "place",
    [
        "%s",
        '{"run_id": %s}',
        '{"test_case_results": [%s]}',
        '{"test_case_results": [{"test_case_id": "a", "test_case_metadata": %s}]}',
        '{"x": %s}',
    ],
)
def test_a_nesting_bomb_is_refused(place: str) -> None:
    for bomb in ("[" * 200_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000):
        refusal((place % bomb).encode())


def test_the_file_of_a_case_and_an_index_are_refused_with_the_file_to_give() -> None:
    case = refusal(b'{"test_case_id": "a", "samples": []}', Path("runs/r1/test_case_a.json"))
    index = refusal(b'{"runs": [{"run_id": "r1"}]}', Path("runs/index.json"))
    pack = refusal(b'{"test_case_id": "a"}\n{"test_case_id": "b"}\n', Path("runs/r1/test_cases.jsonl"))

    assert "the file of one case, not of a run. Give runs/r1/dataset_evaluation.json instead." in str(case)
    assert (
        "an index of runs, not a run. Give the file of one of its runs, such as runs/r1/dataset_evaluation.json."
        in str(index)
    )
    assert "Give runs/r1/dataset_evaluation.json instead." in str(pack)


def test_a_large_file_is_read_in_batches() -> None:
    run = read(*({"test_case_id": f"c{at}", "per_metric_stats": {"clarity": {"mean": at % 5}}} for at in range(600)))

    batches = list(run.batches())

    assert [len(batch) for batch in batches] == [256, 256, 88]
    assert [case.case_id for batch in batches for case in batch] == list(run.case_ids())


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "test_case_id",
                    "samples",
                    "per_metric_stats",
                    "mean",
                    "score",
                    "clarity",
                    "judge_metrics",
                    "count",
                    "judge_flags",
                    "per_flag_stats",
                    "scores",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    _VALUES,
    st.lists(
        st.dictionaries(
            st.sampled_from(
                ["samples", "per_metric_stats", "per_flag_stats", "missing_scores", "num_samples", "test_case_metadata"]
            ),
            _VALUES,
            max_size=3,
        ),
        max_size=3,
    ),
)
def test_any_json_is_read_or_refused_with_a_sentence(head: Any, cases: list[dict[str, Any]]) -> None:
    listed = [{"test_case_id": str(at), **case} for at, case in enumerate(cases)]
    for value in (
        head,
        {"test_case_results": head},
        {"totals": head, "rubric_metadata": head, "test_case_results": listed},
    ):
        with suppress(InputError):
            run = read_artifact(PATH, json.dumps(value).encode())
            assert [case.case_id for batch in run.batches() for case in batch] == list(run.case_ids())
            for answers in map(run.answers, run.case_ids()):
                assert [answer.sample for answer in answers] == list(range(len(answers)))


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_with_a_sentence(data: bytes) -> None:
    refusal(data)
    refusal(b'{"test_case_results": [' + data)


def test_samples_with_scores_but_without_a_status_count_as_completed() -> None:
    scored = {"judge_metrics": {"clarity": {"score": 4}}}
    failed = {"status": "judge_error"}

    facts = read({"test_case_id": "a", "samples": [scored, scored, scored, failed]}).facts
    unknown = read({"test_case_id": "a", "samples": [scored, {}, failed]}).facts

    assert (facts.samples, facts.failed_samples, facts.errors) == (4, 1, {"judge_error": 1})
    assert (unknown.samples, unknown.failed_samples, unknown.errors) == (None, None, None)


@pytest.mark.parametrize("share", [60, -0.1, 1.01])
def test_a_share_of_flags_that_is_not_a_share_is_refused(share: float) -> None:
    stated = {"rude": {"true_proportion": share, "total_count": 5}}

    error = refusal(artifact({"test_case_id": "a", "per_flag_stats": stated}))

    assert "out of range in `per_flag_stats.rude.true_proportion`" in str(error)


def test_a_scale_and_totals_beyond_all_numbers_are_unknown() -> None:
    rubric = {"metrics": [{"name": "clarity", "min_score": 1, "max_score": 10**400}]}
    facts = read(with_samples(3, 4), rubric_metadata=rubric, totals={"cost": 10**400, "input_tokens": -(10**400)}).facts

    assert (facts.scales, facts.guessed_scales) == ({"clarity": (1.0, 5.0)}, ("clarity",))
    assert (facts.cost, facts.input_tokens) == (None, None)
