"""Loading cases: JSONL against bare decoding, streaming memory, YAML against PyYAML's C loader."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(tempfile.gettempdir()) / "prompt-evaluator-bench"


def jsonl_file(count: int) -> Path:
    """A dataset like the guide's, with its three extra fields of mixed types. Written once."""
    path = FOLDER / f"{count}.jsonl"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(_case(number)) + "\n" for number in range(count))
    return path


def checked_file(count: int) -> Path:
    """Cases that each want another word in the answer."""
    path = FOLDER / f"{count}-checked.jsonl"
    FOLDER.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            check = {"includes": {"phrases": [f"item {number}"]}}
            case = {"id": f"task-{number:05d}", "input": f"Explain item {number} in simple terms.", "checks": [check]}
            file.write(json.dumps(case) + "\n")
    return path


def yaml_file(count: int) -> Path:
    path = FOLDER / f"{count}.yaml"
    if not path.exists():
        import yaml  # noqa: PLC0415

        FOLDER.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump([_case(number) for number in range(count)], sort_keys=False), encoding="utf-8")
    return path


def _case(number: int) -> dict[str, Any]:
    return {
        "id": f"case-{number:07d}",
        "input": f"Explain item number {number} in simple terms, please.",
        "task": "Explain a thing",
        "expected_constraints": "Keep it under 100 words",
        "priority": number % 5,
        "tags": ["a", "b", "c"],
        "config": {"strict": True, "timeout": 30},
    }


def load_jsonl() -> Callable[[], object]:
    from prompt_evaluator.config import load_dataset  # noqa: PLC0415

    path = jsonl_file(200_000)
    return lambda: load_dataset(path)


def decode_lines() -> Callable[[], object]:
    """The limit: every line decoded into a dictionary that is kept, with the garbage collector on."""
    import msgspec  # noqa: PLC0415

    path, decode = jsonl_file(200_000), msgspec.json.Decoder().decode

    def work() -> object:
        with path.open("rb") as file:
            return [decode(line) for line in file]

    return work


def stream_a_million() -> Callable[[], object]:
    from prompt_evaluator.datasets import DatasetReader  # noqa: PLC0415

    path = jsonl_file(1_000_000)
    return lambda: sum(1 for _ in DatasetReader(path))


def stream_jsonl() -> Callable[[], object]:
    from prompt_evaluator.datasets import DatasetReader  # noqa: PLC0415

    path = jsonl_file(200_000)
    return lambda: sum(1 for _ in DatasetReader(path))


def load_yaml() -> Callable[[], object]:
    from prompt_evaluator.config import load_dataset  # noqa: PLC0415

    path = yaml_file(20_000)
    return lambda: load_dataset(path)


def c_safe_loader() -> Callable[[], object]:
    import yaml  # noqa: PLC0415

    data = yaml_file(20_000).read_bytes()
    return lambda: yaml.load(data, Loader=yaml.CSafeLoader)


if __name__ == "__main__":
    jsonl_file(200_000), jsonl_file(1_000_000), yaml_file(20_000)
    measure.conclude(
        measure.ratio(
            "load_dataset, 200,000 JSONL cases, time over bare decoding",
            "bench_datasets:load_jsonl",
            "bench_datasets:decode_lines",
            at_most=1.3,
        ),
        measure.ratio(
            "streaming reader, 200,000 JSONL cases, time over bare decoding",
            "bench_datasets:stream_jsonl",
            "bench_datasets:decode_lines",
            at_most=1.3,
        ),
        measure.memory_above(
            "streaming reader, 1,000,000 cases, MB above the interpreter",
            "bench_datasets:stream_a_million",
            limit=120,
        ),
        measure.ratio(
            "load_dataset, 20,000 YAML cases, speed over CSafeLoader",
            "bench_datasets:load_yaml",
            "bench_datasets:c_safe_loader",
            at_least=3,
        ),
    )
