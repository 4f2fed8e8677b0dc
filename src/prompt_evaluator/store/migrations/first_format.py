"""Converts runs and units of revision 0001 to the format of revision 0002. Pure: bytes in, bytes out."""

from __future__ import annotations

from typing import Any

import msgspec

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_TARGET = ("model", "identity", "temperature", "max_tokens", "seed")


def plan_of(data: bytes) -> bytes:
    """Convert a plan: generator, prompt and template become the target; metrics become uses."""
    plan: dict[str, Any] = _decode(data)
    if "target" in plan:
        return data
    generator = plan.pop("generator")
    target = {name: generator.get(name) for name in _TARGET}
    target |= {"prompt": plan.pop("prompt", None), "template": plan.pop("template", None)}
    plan["target"] = target
    plan["metrics"] = [_use(spec) for spec in plan.get("metrics") or ()]
    return _encode(plan)


def unit_of(kind: str, case_id: str, data: bytes, plan: dict[str, Any]) -> tuple[str, bytes]:
    """Convert a unit's kind and data: results of rubrics and of metrics both become judgements."""
    if kind == "judgement":
        repeats = (plan.get("judge") or {}).get("repeats", 1)
        judgement = _rubric_judgement(_decode(data), plan.get("rubric") or {})
        return "judgement", _encode({**judgement, "repeats": repeats})
    if kind != "score":
        return kind, data
    found = _decode(data)
    if not case_id:
        spec = dict(found["spec"])
        return "preparation", _encode({**found, "metric": spec.pop("metric"), "options": spec})
    return "judgement", _encode(_score_judgement(found))


def _use(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metric": spec["metric"], "options": {name: value for name, value in spec.items() if name != "metric"}}


def _rubric_judgement(found: dict[str, Any], rubric: dict[str, Any]) -> dict[str, Any]:
    criteria = rubric.get("metrics") or []
    verdict = found.get("verdict")
    kept = {name: found[name] for name in ("raw", "replies", "ended_at", "reused") if found.get(name) is not None}
    if verdict is None:
        failed = _failed(found)
        scores = {criterion["name"]: failed for criterion in criteria}
        return {"metric": f"rubric {rubric.get('name')}", "scores": scores, **kept}
    return {
        "metric": f"rubric {rubric.get('name')}",
        "scores": {
            name: {"type": "scored", "value": mark["score"], "reason": mark["rationale"]}
            for name, mark in verdict["metrics"].items()
        },
        "pass_at": {criterion["name"]: _pass_at(criterion) for criterion in criteria},
        "flags": verdict["flags"],
        "comment": verdict.get("overall_comment", ""),
        **kept,
    }


def _failed(found: dict[str, Any]) -> dict[str, Any]:
    if failure := found.get("failure"):
        return {"type": "failed", "reason": failure["message"], "kind": failure["kind"]}
    reason = f"The judge's reply cannot be used: {found.get('invalid')}"
    return {"type": "failed", "reason": reason, "kind": "InvalidJudgement"}


def _pass_at(criterion: dict[str, Any]) -> float:
    low, high = float(criterion.get("min_score", 1)), float(criterion.get("max_score", 5))
    return low + 0.75 * (high - low)


def _score_judgement(found: dict[str, Any]) -> dict[str, Any]:
    """Convert a metric's score. Its threshold was not stored, so use a mark that gives the same outcome."""
    name, score = found["metric"], found["score"]
    if score.get("kind") == "InvalidVerdict":
        score = {**score, "kind": "InvalidJudgement"}
    marks = {}
    if score["type"] == "scored":
        marks = {name: score["value"] if found.get("passed") else 2.0}
    kept = {key: found[key] for key in ("replies", "ended_at", "reused") if found.get(key) is not None}
    return {"metric": name, "scores": {name: score}, "pass_at": marks, **kept}
