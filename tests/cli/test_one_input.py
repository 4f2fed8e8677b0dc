"""`evaluate-dataset -i TEXT`: one input, N samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entries import each

if TYPE_CHECKING:
    from workspace import Done, Workspace


def one(project: Workspace, *arguments: str, text: str = "What is tea?") -> Done:
    return project.run("evaluate-dataset", "-i", text, "-s", "prompt.txt", *arguments)


def test_an_input_is_a_run_of_one_case(offline: Workspace) -> None:
    done = one(offline, "--json", "-n", "3")

    assert done.code == 0
    (case,) = done.artifact["test_case_results"]
    assert (case["test_case_id"], case["test_case_input"], len(case["samples"])) == ("input", "What is tea?", 3)
    assert done.artifact["dataset_path"] is None


def test_two_inputs_are_two_datasets(offline: Workspace) -> None:
    hashes = {one(offline, "--json", "-n", "1", text=text).artifact["dataset_hash"] for text in ("one", "two", "one")}

    assert len(hashes) == 2


@each(
    ("arguments", "sentence"),
    [
        (("-i", " ", "-s", "prompt.txt"), "The input is empty."),
        (("-i", "caf\udce9", "-s", "prompt.txt"), "has a value that cannot be stored"),
        (("-i", "tea", "-d", "data.jsonl", "-s", "prompt.txt"), "it cannot be combined with --dataset."),
        (("-i", "tea", "--resume", "2d65"), "it cannot be combined with --resume."),
        (("-s", "prompt.txt"), "Missing option '--dataset'. For one input instead of a dataset, use --input."),
        (("-i", "tea"), "Missing option '--system-prompt'."),
    ],
    ids=["empty", "not UTF-8", "dataset", "resume", "neither", "no prompt"],
)
def test_what_is_not_one_input_is_refused(offline: Workspace, arguments: tuple[str, ...], sentence: str) -> None:
    done = offline.run("evaluate-dataset", *arguments)

    assert (done.code, done.out) == (2, "")
    assert sentence in " ".join(done.err.split())
    assert not (offline.folder / "runs").exists()


def test_a_run_on_one_input_is_resumed_without_its_text(offline: Workspace) -> None:
    run_id = one(offline, "--json", "-n", "3", "--max-calls", "2").run_id

    done = offline.run("resume", run_id, "--json")

    assert done.code == 0
    assert done.artifact["test_case_results"][0]["test_case_input"] == "What is tea?"


def test_each_answer_is_shown_with_its_scores(offline: Workspace) -> None:
    done = one(offline, "-n", "2")
    samples = offline.artifact(offline.the_run())["test_case_results"][0]["samples"]

    before, _, after = done.out.partition("\nRun ")
    assert "95 % interval" in after
    for number, sample in enumerate(samples, 1):
        answer = " ".join(sample["generator_output"].split())
        assert answer[:40] in " ".join(before.split())
        score = sample["judge_metrics"]["semantic_fidelity"]["score"]
        assert f"Sample {number}  semantic_fidelity {score:.2f}" in before


def test_a_long_answer_is_cut_and_the_command_that_shows_all_of_it_is_named(offline: Workspace) -> None:
    offline.write("long.py", "def answer(text):\n    return 'word ' * 500 + '\\x1b[2J'\n")

    done = one(
        offline, "-n", "1", "--generator-model", "python/long:answer", "--rubric", "none", "--metrics", "is_json"
    )

    before = done.out.partition("\nRun ")[0]
    assert before.startswith("Sample 1  is_json 0.00 (does not pass)\n  word word")
    assert "more lines\n" in before
    assert f"In full: prompt-evaluator runs show {offline.the_run()[:8]} --case input\n" in before
    assert "\x1b" not in done.out


def test_several_prompts_are_compared_on_one_input(offline: Workspace) -> None:
    offline.write("kind.txt", "Be kind.\n")

    done = one(offline, "-s", "kind.txt", "-n", "2")

    assert done.code == 0, done.err
    assert done.out.count("Sample 1  semantic_fidelity ") == 2
    assert "2 prompts with mock/default on the input: 2 of 2 runs completed" in done.out
    assert "── kind.txt compared with prompt.txt · mock/default ──" in done.out
