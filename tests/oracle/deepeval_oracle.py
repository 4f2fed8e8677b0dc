"""Records what DeepEval says to scripted judges, or checks that it still says the same.

Runs in an environment of its own, which has DeepEval and nothing of ours:

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install 'deepeval==4.3.1'
    /tmp/oracle/bin/python tests/oracle/deepeval_oracle.py --check      # exit 1 when a recording does not hold
    /tmp/oracle/bin/python tests/oracle/deepeval_oracle.py --write      # record anew

DeepEval reports home and writes files wherever it is started. Here it has its telemetry off, an empty home and working
folder that are thrown away, and no network: a look-up or connection fails, is counted, and fails the check.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

Script = dict[str, Any]
RECORDINGS = Path(__file__).resolve().parents[1] / "metrics" / "transcripts"
TOLERANCE = 1e-12
_SILENCE = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_TELEMETRY_ENABLED": "NO",
    "ERROR_REPORTING": "NO",
    "DEEPEVAL_DISABLE_DOTENV": "YES",
    "DEEPEVAL_DISABLE_LEGACY_KEYFILE": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "NO",
    "CONFIDENT_TRACING_ENABLED": "NO",
}
_KEYS = ("CONFIDENT_API_KEY", "OPENAI_API_KEY")
_CLASSES = {
    "faithfulness": "FaithfulnessMetric",
    "answer_relevancy": "AnswerRelevancyMetric",
    "contextual_precision": "ContextualPrecisionMetric",
    "contextual_recall": "ContextualRecallMetric",
    "contextual_relevancy": "ContextualRelevancyMetric",
}
_OPTIONS = {"strict_idk": "penalize_ambiguous_claims", "truths_limit": "truths_extraction_limit"}
_CASE = {
    "input": "How long should green tea steep?",
    "actual_output": "Three minutes.",
    "expected_output": "Two to three minutes.",
}

attempts: list[str] = []
"""Connections and look-ups that were tried."""


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = arguments.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="compare DeepEval with the recordings")
    mode.add_argument("--write", action="store_true", help="replace the recordings")
    write = arguments.parse_args().write
    with tempfile.TemporaryDirectory() as folder:
        _seal(folder)
        scripts = importlib.import_module("scripts").scripts()  # beside this file
        said = {metric: [_recording(metric, script) for script in listed] for metric, listed in scripts.items()}
        version = metadata.version("deepeval")
        os.chdir("/")
    wrong = [f"the network was asked for: {attempt}" for attempt in attempts]
    for metric, listed in said.items():
        path = RECORDINGS / f"{metric}.json"
        if write:
            text = json.dumps({"deepeval": version, "transcripts": listed}, indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
        else:
            wrong += _differences(metric, listed, json.loads(path.read_text("utf-8"))["transcripts"])
    total = sum(map(len, said.values()))
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.stdout.write(f"DeepEval {version}: {total} transcripts, {len(wrong)} problems\n")
    return 1 if wrong else 0


def _seal(folder: str) -> None:
    """Before DeepEval is imported, which is when it first looks around."""
    for key in _KEYS:
        os.environ.pop(key, None)
    home = Path(folder) / "home"
    home.mkdir()
    os.environ.update(_SILENCE, HOME=str(home), DEEPEVAL_HOME=str(home), XDG_CACHE_HOME=str(home))
    os.chdir(folder)

    def refuse(*where: Any, **_: Any) -> NoReturn:
        attempts.append(str(where[-1] if isinstance(where[0], socket.socket) else where[0]))
        raise OSError("the oracle has no network")

    for owner, name in ((socket.socket, "connect"), (socket.socket, "connect_ex"), (socket, "getaddrinfo")):
        setattr(owner, name, refuse)


def _recording(metric: str, script: Script) -> Script:
    try:
        score = _marked(script) if metric == "correctness" else _judged(metric, script)
    except Exception as error:  # noqa: BLE001 - what it raises is what it says
        return script | {"deepeval": None, "raised": type(error).__name__}
    return script | {"deepeval": score}


def _judged(metric: str, script: Script) -> float:
    groups = script["verdicts"] if any(isinstance(each, list) for each in script["verdicts"]) else [script["verdicts"]]
    count = script.get("texts", len(groups[0]))
    replies = {
        "Truths": [{"truths": script.get("truths", ["A truth."])}],
        "Claims": [{"claims": [f"Claim {n}." for n in range(count)]}],
        "Statements": [{"statements": [f"Statement {n}." for n in range(count)]}],
        "Verdicts": [{"verdicts": [{"verdict": each, "reason": "So it is."} for each in groups[0]]}],
        "ContextualRelevancyVerdicts": [
            {"verdicts": [{"statement": "It is so.", "verdict": each, "reason": "So it is."} for each in group]}
            for group in groups
        ],
    }
    options = {_OPTIONS[name]: value for name, value in script.get("options", {}).items()}
    made = _deepeval("metrics", _CLASSES[metric])(
        model=_judge(lambda schema: json.dumps(replies[schema].pop(0))),
        async_mode=False,
        include_reason=False,
        **options,
    )
    nodes = max(1, count) if metric == "contextual_precision" else len(groups)
    context = [f"Passage {n}." for n in range(nodes)]
    case = _deepeval("test_case", "LLMTestCase")(**_CASE, retrieval_context=context)
    return float(made.measure(case, _show_indicator=False))


def _marked(script: Script) -> float:
    reply = text_of(script)
    tokens = script.get("tokens")
    raw = None if tokens is None else _completion(reply, tokens)
    steps = json.dumps({"steps": ["Compare.", "Weigh."]})
    model = _judge(lambda schema: steps if schema == "Steps" else reply, raw)
    params = _deepeval("test_case", "SingleTurnParams")
    made = _deepeval("metrics", "GEval")(
        name="correctness",
        criteria="Are the facts right?",
        evaluation_params=[params.INPUT, params.ACTUAL_OUTPUT, params.EXPECTED_OUTPUT],
        model=model,
        async_mode=False,
    )
    return float(made.measure(_deepeval("test_case", "LLMTestCase")(**_CASE), _show_indicator=False))


def text_of(script: Script) -> str:
    if tokens := script.get("tokens"):
        return "".join(token for token, _ in tokens)
    return json.dumps({"reason": "Fine.", "score": script["score"]})


def _completion(text: str, tokens: list[Any]) -> SimpleNamespace:
    """What OpenAI's client returns, as far as DeepEval looks at it."""
    content = [
        SimpleNamespace(
            token=token,
            logprob=top.get(token, -20.0),
            top_logprobs=[SimpleNamespace(token=other, logprob=logprob) for other, logprob in top.items()],
        )
        for token, top in tokens
    ]
    logprobs = SimpleNamespace(content=content)
    return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=text), logprobs=logprobs)])


def _judge(reply: Callable[[str], str], raw: SimpleNamespace | None = None) -> Any:
    """A model of DeepEval's custom kind that says what stands in the script, by the name of the wanted schema."""

    def generate(_self: Any, _prompt: str, schema: Any) -> str:
        return reply(schema.__name__)

    async def a_generate(_self: Any, _prompt: str, schema: Any) -> str:
        return reply(schema.__name__)

    methods: dict[str, Any] = {
        "load_model": lambda _self: None,
        "get_model_name": lambda _self: "scripted",
        "generate": generate,
        "a_generate": a_generate,
    }
    if raw is not None:

        def generate_raw_response(_self: Any, _prompt: str, top_logprobs: int) -> tuple[SimpleNamespace, float]:
            assert top_logprobs
            return raw, 0.0

        methods["generate_raw_response"] = generate_raw_response
    base = _deepeval("models", "DeepEvalBaseLLM")
    return type("Scripted", (base,), methods)("scripted")


def _deepeval(module: str, name: str) -> Any:
    return getattr(importlib.import_module(f"deepeval.{module}"), name)


def _differences(metric: str, fresh: list[Script], recorded: list[Script]) -> list[str]:
    old = {script["name"]: script for script in recorded}
    wrong = [f"{metric}: {name!r} is recorded, but no longer asked" for name in old.keys() - {s["name"] for s in fresh}]
    for script in fresh:
        name = script["name"]
        if name not in old:
            wrong.append(f"{metric}: {name!r} is not recorded")
        elif not _same(script, old[name]):
            wrong.append(f"{metric}: {name!r} was {old[name]['deepeval']}, is {script['deepeval']}, or is asked anew")
    return wrong


def _same(one: Script, other: Script) -> bool:
    if one | {"deepeval": 0} != json.loads(json.dumps(other)) | {"deepeval": 0}:
        return False
    new, old = one["deepeval"], other["deepeval"]
    return bool(new == old) if new is None or old is None else abs(new - old) <= TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
