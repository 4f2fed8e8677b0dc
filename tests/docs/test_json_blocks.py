"""JSON that pages show: files can be used as they are, and output is what the command prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from doc_pages import ROOT, blocks

from prompt_evaluator.cli.main import cli
from prompt_evaluator.datasets import survey
from prompt_evaluator.harness.entries import read_entries

OUTPUT = ROOT / "docs/how-to/validate-in-ci.md"
SHOWN = [
    (page, block.text)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for block in blocks(page)
    if block.kind == "json"
]
HARNESS = ROOT / "docs/how-to/run-the-release-harness.md"
FILES = [(page, text) for page, text in SHOWN if page not in {OUTPUT, HARNESS}]


@pytest.mark.parametrize(("page", "text"), FILES, ids=[page.stem for page, _ in FILES])
def test_cases_that_a_page_shows_as_json_can_be_used(tmp_path: Path, page: Path, text: str) -> None:
    path = tmp_path / ("cases.json" if text.lstrip().startswith("[") else "cases.jsonl")
    path.write_text(text, encoding="utf-8")

    found = survey(path)

    assert found.problems == [], page
    assert found.count == (len(json.loads(text)) if path.suffix == ".json" else 1)


def test_the_configurations_that_the_harnesss_page_shows_can_be_used(tmp_path: Path) -> None:
    (shown,) = [text for page, text in SHOWN if page == HARNESS]
    path = tmp_path / "providers.json"
    path.write_text(shown, encoding="utf-8")

    assert [entry.entry for entry in read_entries(path)] == json.loads(shown)


def test_the_report_of_validate_is_what_its_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = [json.loads(text) for page, text in SHOWN if page == OUTPUT]
    monkeypatch.chdir(tmp_path)
    Path("datasets").mkdir()
    cases = [f"- id: case-{number}\n  input: Why?\n" for number in range(12)]
    cases[3] = "- topic: none\n  input: Why?\n"
    Path("datasets/cases.yaml").write_text("".join(cases), encoding="utf-8")

    printed = json.loads(CliRunner().invoke(cli, ["validate", "--json", "datasets/cases.yaml"]).stdout)

    (file,) = printed["files"]
    assert len(file["hash"]) == 64
    assert file["fields"].pop("topic") == 1
    assert printed | {"files": [file | {"hash": "…"}]} == shown
