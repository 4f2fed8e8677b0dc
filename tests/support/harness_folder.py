"""A harness's folder for tests, and its results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace import Workspace

TASKS: list[dict[str, Any]] = [
    {
        "id": "one",
        "category": "web",
        "prompt": "First?",
        "mustInclude": ["alpha"],
        "hallucinationTriggers": ["made up"],
    },
    {"id": "two", "category": "code", "prompt": "Second?", "mustInclude": ["alpha", ["beta", "gamma"]]},
]
CONFIGS: list[dict[str, Any]] = [{"id": "plain", "provider": "ours", "router": "r", "model": "m", "retries": 2}]


def write_harness(
    workspace: Workspace,
    tasks: Sequence[dict[str, Any]] = TASKS,
    configs: Sequence[dict[str, Any]] = CONFIGS,
    folder: str = "evals",
) -> None:
    workspace.write(f"{folder}/tasks/all.json", json.dumps([*tasks]))
    workspace.write(f"{folder}/configs/providers.json", json.dumps([*configs]))


def results(workspace: Workspace, name: str, folder: str = "evals") -> Any:
    return json.loads((workspace.folder / folder / "results" / name).read_bytes())


def by_task(run: dict[str, Any], config_id: str = "plain") -> dict[str, dict[str, Any]]:
    """The evaluations of one configuration, with one sample each."""
    return {each["taskId"]: each for each in run["evaluations"] if each["configId"] == config_id}
