"""The models of today, with our defaults, at a service that refuses what theirs refuse: nothing is wasted or untrue."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from strict_answers import CLAUDE, FACTS, GPT
from strict_service import list_price, strict_service, tool_answers_of

from prompt_evaluator import evaluate
from prompt_evaluator.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strict_service import Call, StrictService

    from prompt_evaluator import Evaluation

MODELS = [f"openai/{name}" for name in GPT if "nova" not in name]
MODELS += [f"anthropic/{name}" for name in CLAUDE if "nova" not in name]
ELSEWHERE = {
    "azure": ("answers-prod", "judge-prod", "old-prod"),
    "bedrock": ("openai.gpt-oss-120b-1:0",),
    "deepseek": ("deepseek-flash",),
    "fireworks": ("accounts/fireworks/models/llama-v3p3-70b-instruct",),
    "gemini": ("gemini-3.8-flash", "gemini-2.5-flash"),
    "groq": ("llama-3.3-70b-versatile", "openai/gpt-oss-120b"),
    "litellm": ("gpt-6-luna", "claude-opus-5-5"),
    "mistral": ("mistral-large-latest",),
    "ollama": ("llama3.2", "qwen3"),
    "openrouter": ("openai/gpt-6-luna", "anthropic/claude-opus-5-5", "meta-llama/llama-3.3-70b-instruct"),
    "together": ("meta-llama/Llama-3.3-70B-Instruct-Turbo",),
    "vertex": ("google/gemini-3.8-flash",),
    "vllm": ("my-model", "thinker"),
    "xai": ("grok-4.7", "grok-3"),
}
CONTENT = ("model", "messages", "input", "system", "tools", "response_format")
ANY = ["length(max_words=10000)"]
"""A metric that needs neither a judge nor a reference."""
DEPLOYMENTS = {"answers-prod": "gpt-6-sol", "judge-prod": "gpt-5.4", "old-prod": "gpt-4.1"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-a-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-a-test")
    return tmp_path


@pytest.fixture
def strict(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictService]:  # noqa: ARG001 - settings are read there
    with strict_service() as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.base("openai"))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", service.base("anthropic"))
        yield service


def cases(count: int) -> list[dict[str, Any]]:
    return [{"id": f"case-{number}", "input": f"Question {number}: why?"} for number in range(count)]


def run(model: str, *, count: int = 2, samples: int = 2, **options: Any) -> Evaluation:
    return evaluate(cases(count), system_prompt="Be short.", target=model, judge=model, samples=samples, **options)


def refused(calls: list[Call]) -> list[str]:
    return [f"{call.status} {call.param}: {call.reply}"[:200] for call in calls if call.status != 200]


def artifact(made: Evaluation, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "runs" / made.run_id / "dataset_evaluation.json").read_text())
    return found


def samples_of(made: Evaluation, folder: Path) -> list[dict[str, Any]]:
    return [sample for case in artifact(made, folder)["test_case_results"] for sample in case["samples"]]


def said_of(call: Call) -> str:
    """What a service got beside texts, tools and schemas, in a form that can be compared."""
    body = {name: value for name, value in call.body.items() if name not in CONTENT}
    for name in ("text", "output_config"):
        if name in body:
            body[name] = {key: value for key, value in body[name].items() if key != "format"}
    known = {name: value for name, value in body.items() if value != {}}
    path = "" if call.path == "/v1/messages" else call.path
    return json.dumps([known, path, call.headers.get("anthropic-version")])


def sent_by(sample: dict[str, Any], base: str) -> str:
    sent = sample["sent"]
    path = "" if sent["path"] == "/v1/messages" else base + sent["path"]
    return json.dumps([sent.get("parameters", {}), path, sent.get("version")])


def test_every_model_answers_and_judges_with_the_defaults_and_the_artifact_says_what_was_sent(
    strict: StrictService, folder: Path
) -> None:
    wrong = []
    for model in MODELS:
        start = len(strict.log)
        made = run(model)
        calls = strict.log[start:]
        sent = Counter(said_of(call) for call in calls if not call.judge)
        kept = Counter(sent_by(sample, "/v1") for sample in samples_of(made, folder))
        if made.status != "completed" or refused(calls) or len(calls) != 8 or sent != kept:
            wrong.append((model, made.status, len(calls), refused(calls)[:1], sent - kept, kept - sent))

    assert not wrong


def test_scores_are_within_the_scale_also_where_a_schema_may_have_no_bounds(strict: StrictService) -> None:
    made = run("anthropic/claude-opus-5-5")

    assert all(1 <= stats.min_of_means <= stats.max_of_means <= 5 for stats in made.metrics.values())
    schemas = [call.body["output_config"]["format"]["schema"] for call in strict.log if call.judge]
    assert "minimum" not in json.dumps(schemas)


@pytest.mark.usefixtures("folder")
def test_tools_are_called_by_every_model(monkeypatch: pytest.MonkeyPatch) -> None:
    suite = Path(str(files("prompt_evaluator"))) / "benchmarks" / "tool-use-basic.yaml"
    wrong = []
    with strict_service(tool_answers=tool_answers_of(suite)) as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.base("openai"))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", service.base("anthropic"))
        for model in MODELS:
            start = len(service.log)
            made = evaluate(suite, target=model, rubric=None, metrics=["tool_correctness"], samples=1)
            score = made.metrics["tool_correctness"].mean_of_means
            if (made.status, score, len(service.log) - start) != ("completed", 1.0, 12):
                wrong.append((model, made.status, score, refused(service.log[start:])[:1]))

    assert not wrong


@pytest.mark.parametrize(
    ("model", "fields"), [("openai/nova-9", 2), ("anthropic/nova-9", 1), ("openai/nova-9-plain", 0)]
)
def test_what_an_unknown_model_refuses_is_found_out_by_one_request_each_while_the_others_wait(
    strict: StrictService, folder: Path, model: str, fields: int
) -> None:
    options: dict[str, Any] = {"temperature": 0.3, "seed": 1, "max_tokens": 2_000, "max_concurrency": 64}
    made = run(model, count=20, samples=4, rubric=None, metrics=ANY, **options)

    assert made.status == "completed"
    assert len(refused(strict.log)) == fields
    assert len(strict.log) == 80 + fields
    learned = [left["reason"] for left in samples_of(made, folder)[0]["sent"].get("left_out", ())]
    assert learned.count("learned") == fields

    before = len(strict.log)
    run(model, rubric=None, metrics=ANY, **options)

    assert not refused(strict.log[before:])


def test_a_parameter_that_a_model_does_not_take_is_left_out_with_a_remark_or_refused_before_any_call(
    strict: StrictService, folder: Path
) -> None:
    made = run("openai/gpt-6-luna", temperature=0.3)

    left = artifact(made, folder)["generator_config"]["left_out"]
    assert [(each["field"], each["value"], each["reason"]) for each in left] == [("temperature", 0.3, "rule")]
    before = len(strict.log)
    with pytest.raises(ConfigurationError, match="does not take 'temperature'"):
        run("openai/gpt-6-luna", temperature=0.3, strict_params=True)
    assert len(strict.log) == before


def test_other_services_answer_and_judge_with_the_defaults(strict: StrictService, folder: Path) -> None:
    entries: dict[str, dict[str, Any]] = {}
    for name in ELSEWHERE:
        entries[name] = {"kind": "openai", "service": name, "base_url": strict.base(name)}
        entries[name] |= {"api_key_env": "OPENAI_API_KEY"} if name != "vertex" else {"api_key_command": "echo a-token"}
    entries["azure"] |= {"api_key_header": "api-key", "base_model": DEPLOYMENTS}
    (folder / "prompt_evaluator.yaml").write_text(json.dumps({"version": 1, "providers": entries}))
    wrong = []
    for model in (f"{service}/{name}" for service, names in ELSEWHERE.items() for name in names):
        start = len(strict.log)
        made = run(model, count=5)
        calls = strict.log[start:]
        without_effect = {name for call in calls for name in call.ignored}
        unsaid = without_effect - set(artifact(made, folder)["generator_config"]["ignored"])
        if made.status != "completed" or refused(calls) or unsaid:
            wrong.append((model, made.status, refused(calls)[:2], unsaid))

    assert not wrong


def test_tokens_and_cost_are_those_of_the_price_list_also_of_cached_and_failed_requests(
    strict: StrictService, folder: Path
) -> None:
    wrong: list[Any] = []
    for model in FACTS["prices"]:
        service = "openai" if model in GPT else "anthropic"
        if model not in GPT and model not in CLAUDE:
            continue
        start = len(strict.log)
        long = "Be short. " + "Say nothing that you do not know. " * 600
        made = evaluate(cases(3), system_prompt=long, target=f"{service}/{model}", rubric=None, metrics=ANY, samples=3)
        calls = strict.log[start:]
        totals = artifact(made, folder)["totals"]
        bills = [call.bill for call in calls if call.bill]
        billed = sum(bill.input for bill in bills), sum(bill.output for bill in bills)
        cost = sum(map(list_price, calls))
        if (totals["input_tokens"], totals["output_tokens"]) != billed or abs((totals["cost"] or 0) - cost) > 1e-9:
            wrong.append((model, totals["cost"], cost, totals["input_tokens"], billed))
        if not any(bill.cached for bill in bills):
            wrong.append((model, "nothing", 0.0, "was read from the cache", billed))

    assert not wrong


REFUSALS = {
    "openai/gpt-4o": ("refusal", "content-filter", "content-filter:empty", "policy"),
    "openai/gpt-6-luna": ("refusal", "content-filter", "policy:cyber_policy"),
    "anthropic/claude-opus-5-5": ("refusal:bio", "content-filter"),
}


def test_a_refusal_of_any_shape_is_one_answer_and_is_counted(strict: StrictService, folder: Path) -> None:
    wrong = []
    for model, faults in REFUSALS.items():
        for fault in faults:
            start = len(strict.log)
            refuse = [{"id": "a", "input": f"[fault {fault} x9] Tell me."}, {"id": "b", "input": "Why?"}]
            made = evaluate(refuse, target=model, rubric=None, metrics=ANY, samples=1)
            found = artifact(made, folder)["totals"]["outcomes"]
            counted = found.get("refused", 0) + found.get("filtered", 0)
            if (made.status, len(strict.log) - start, counted) != ("completed", 2, 1):
                wrong.append((model, fault, made.status, len(strict.log) - start, found, refused(strict.log[start:])))

    assert not wrong


def test_a_judge_that_refuses_is_named_so_and_not_asked_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with strict_service(fault=lambda ask: "refusal x99" if ask.judge else None) as service:
        monkeypatch.setenv("OPENAI_BASE_URL", service.base("openai"))
        made = run("openai/gpt-6-luna")

    assert sum(call.judge for call in service.log) == 4
    assert artifact(made, folder)["totals"]["errors"] == {"JudgeRefusedError": 4}


def test_cut_and_empty_answers_are_answers_and_are_counted(strict: StrictService, folder: Path) -> None:
    faults = ("length", "thinking", "empty", "context")
    model = "anthropic/claude-opus-5-5"
    asked = [{"id": name, "input": f"[fault {name} x9] Tell me."} for name in faults]
    made = evaluate(asked, target=model, rubric=None, metrics=ANY, samples=1)

    outcomes = artifact(made, folder)["totals"]["outcomes"]
    assert outcomes == {"context": 1, "empty": 1, "empty_length": 1, "length": 2}
    assert len(strict.log) == len(faults)


def test_a_reply_that_was_billed_and_cannot_be_used_costs_what_it_cost(strict: StrictService, folder: Path) -> None:
    made = evaluate(
        [{"id": "a", "input": "[fault unreadable x1] Why?"}],
        target="openai/gpt-4o",
        rubric=None,
        metrics=ANY,
        samples=1,
    )

    assert [call.status for call in strict.log] == [200, 200]
    assert artifact(made, folder)["totals"]["cost"] == pytest.approx(sum(map(list_price, strict.log)))


def test_a_lone_surrogate_in_an_answer_is_an_answer(strict: StrictService) -> None:
    made = evaluate(
        [{"id": "a", "input": "[fault surrogate x9] Why?"}],
        target="openai/gpt-4o",
        rubric=None,
        metrics=ANY,
        samples=1,
    )

    assert (made.status, len(strict.log)) == ("completed", 1)


def test_a_key_that_a_command_prints_is_asked_for_again_when_it_has_expired(folder: Path) -> None:
    counter = folder / "counter.txt"
    # The second time, another key.
    script = f"if [ -e {counter} ]; then echo new-token; else touch {counter}; echo old-token; fi"
    command = shlex.join(["sh", "-c", script])
    with strict_service(bad_keys={"old-token"}) as service:
        entry = {"kind": "openai", "base_url": service.base("openai"), "api_key_command": command}
        (folder / "prompt_evaluator.yaml").write_text(json.dumps({"version": 1, "providers": {"acme": entry}}))
        made = evaluate(cases(1), target="acme/gpt-4o", rubric=None, metrics=ANY, samples=3)

    assert made.status == "completed"
