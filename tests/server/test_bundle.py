"""A bundle is complete in itself: no link is dead, nothing leads away, and only a whole bundle appears."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from bundled_site import ParsedPage, bundle
from click.testing import CliRunner
from hostile import MARK
from seeded_site import large_run, seed, settings_of
from soak import trials

from prompt_evaluator.app.run_edits import edit_run
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.cli.main import cli
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.server.bundle.folder import MARK as BUNDLE_MARK

if TYPE_CHECKING:
    from pathlib import Path

    from seeded_site import Seeded

pytestmark = pytest.mark.slow
LARGEST_PAGE = 200_000
"""Bytes of a page with its styles and scripts, before charts."""


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("seeded"), cases=52, samples=2)


@pytest.fixture(scope="module")
def site(seeded: Seeded) -> Path:
    out = seeded.folder / "site"
    bundle(seeded.settings, [seeded.baseline, seeded.better, seeded.hostile], out)
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, ParsedPage]:
    """All pages by their path in the bundle."""
    return {
        path.relative_to(site).as_posix(): ParsedPage(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))
    }


def test_no_link_is_dead_and_none_leads_away(site: Path, pages: dict[str, ParsedPage]) -> None:
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    reached = {"index.html"}
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if link == "data:,":
                continue
            assert not parts.scheme, f"{name} leads to {link}"
            assert not link.startswith("/"), f"{name} leads to {link}"
            target = unquote(urljoin(name, parts.path)) if parts.path else name
            assert target in files, f"{name} leads to {link}, which is not there"
            if parts.fragment and target in pages:
                assert parts.fragment in pages[target].ids, f"{target} has no {parts.fragment}"
            reached.add(target)

    assert len(pages) > 160
    assert {name for name in pages if name not in reached} == set()


def test_links_in_data_lead_to_files(site: Path) -> None:
    for rows in site.rglob("*rows-*.js"):
        here = rows.parent.parent
        found = json.loads(rows.read_text("utf-8").removeprefix("bundleData(").removesuffix(");\n"))
        links = [link for row in found for link in ParsedPage(f"<table>{row}</table>").links]

        assert links
        assert [link for link in links if not (here / unquote(link)).is_file()] == []


def test_what_needs_a_server_is_left_out(pages: dict[str, ParsedPage]) -> None:
    attributes = {name for page in pages.values() for name in page.attributes}

    assert not attributes & {"data-method", "data-url", "data-tag-url", "data-load", "data-change-of", "data-scatter"}
    assert "palette" not in {each for page in pages.values() for each in page.ids}
    assert not any(name.startswith("on") for name in attributes)


def test_a_page_with_its_styles_and_scripts_is_small(site: Path, seeded: Seeded, pages: dict[str, ParsedPage]) -> None:
    for name in ("index.html", f"runs/{seeded.better}/index.html"):
        loaded = {link for link in pages[name].links if link.endswith((".css", ".js"))}
        size = sum((site / name).parent.joinpath(each).stat().st_size for each in loaded)

        assert size + (site / name).stat().st_size < LARGEST_PAGE


def test_pages_allow_only_files_of_the_bundle(site: Path) -> None:
    for path in site.rglob("*.html"):
        head = path.read_text("utf-8").partition("</head>")[0]

        assert "default-src 'none'; script-src 'self'; style-src 'self'" in head
        assert 'type="module"' not in head


def test_texts_of_models_are_no_elements(pages: dict[str, ParsedPage], site: Path) -> None:
    known = {tag for name, page in pages.items() if "compare" not in name for tag in page.tags}

    assert not known & {"iframe", "img", "object", "embed", "base", "style"}
    for path in site.rglob("*.html"):
        assert f"<script>window.{MARK}" not in path.read_text("utf-8")


def test_only_some_cases_get_a_page_and_the_table_has_all(seeded: Seeded, tmp_path: Path) -> None:
    bundle(seeded.settings, [seeded.better], tmp_path / "site", cases=3)

    run = tmp_path / "site/runs" / seeded.better
    index = json.loads((run / "data/cases.js").read_text("utf-8").removeprefix("bundleData(").removesuffix(");\n"))
    assert len(list((run / "cases").iterdir())) == 3
    assert len(index["cases"]) == 52
    assert sum(marks >> 4 for _, marks, *_ in index["cases"]) == 3
    assert all(marks & 1 for _, marks, *_ in index["cases"] if marks >> 4), "those that fail come first"


def test_without_pages_of_cases_there_is_no_answer(seeded: Seeded, tmp_path: Path) -> None:
    bundle(seeded.settings, [seeded.baseline, seeded.better], tmp_path / "site", cases=0)

    store = open_store(seeded.settings)
    answer = store.case_detail(seeded.better, "returns-007").samples[0].answer
    texts = "".join(path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.*"))
    assert answer
    assert answer not in texts
    assert not list((tmp_path / "site").rglob("cases/*.html"))


def test_a_secret_is_in_no_file(seeded: Seeded, tmp_path: Path) -> None:
    secret = "sk-key-of-this-bundle-4711"
    edit_run(seeded.settings, seeded.aborted, note=f"Do not tell: {secret}", tags={"key": secret})
    bundle(seeded.settings, [seeded.aborted], tmp_path / "before", cases=0)
    REDACTOR.add(secret)
    bundle(seeded.settings, [seeded.aborted], tmp_path / "site", cases=0)

    def telling(folder: Path) -> list[Path]:
        return [path for path in folder.rglob("*.*") if secret in path.read_text("utf-8")]

    assert telling(tmp_path / "before")
    assert not telling(tmp_path / "site")


def test_an_earlier_bundle_is_replaced_and_nothing_else(seeded: Seeded, tmp_path: Path) -> None:
    out = tmp_path / "site"
    bundle(seeded.settings, [seeded.hostile], out, cases=0)
    (out / "stale.html").write_text("old")

    bundle(seeded.settings, [seeded.benchmark], out, cases=0)

    assert not (out / "stale.html").exists()
    assert [path.name for path in (out / "runs").iterdir()] == [seeded.benchmark]
    assert [path.name for path in tmp_path.iterdir()] == ["site"], "nothing is left beside it"


@pytest.mark.parametrize("foreign", ["a folder", "a file"])
def test_what_is_not_a_bundle_is_left_alone(seeded: Seeded, tmp_path: Path, foreign: str) -> None:
    out = tmp_path / "site"
    if foreign == "a file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine.txt").write_text("mine")

    with pytest.raises(ConfigurationError, match="Name a"):
        bundle(seeded.settings, [seeded.better], out)

    assert (out if foreign == "a file" else out / "mine.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_bundle_that_fails_leaves_the_earlier_one(seeded: Seeded, tmp_path: Path) -> None:
    out = tmp_path / "site"
    bundle(seeded.settings, [seeded.benchmark], out, cases=0)
    before = {path: path.read_bytes() for path in out.rglob("*.html")}

    with pytest.raises(UnknownNameError):
        bundle(seeded.settings, [seeded.benchmark, "no-such-run"], out)
    with pytest.raises(ConfigurationError, match="twice"):
        bundle(seeded.settings, [seeded.benchmark, seeded.benchmark[:12]], out)

    assert {path: path.read_bytes() for path in out.rglob("*.html")} == before


def test_the_command_says_how_large_it_is_and_how_to_open_it(
    seeded: Seeded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(seeded.folder)
    out = str(tmp_path / "a b" / "site")

    done = CliRunner().invoke(cli, ["view", seeded.aborted[:8], "-o", out, "--cases", "2"], catch_exceptions=False)

    assert done.exit_code == 0
    assert re.fullmatch(
        rf"Wrote {out} \(\d+ files, [\d.]+ [kM]B\)\.\nOpen {out}/index.html in a browser.*\n", done.stdout
    )
    assert (tmp_path / "a b/site" / BUNDLE_MARK).is_file()


def test_a_missing_extra_is_named_in_a_sentence(tmp_path: Path) -> None:
    program = "import sys; sys.modules['jinja2'] = None; from prompt_evaluator.cli.main import main; main()"

    done = subprocess.run(
        [sys.executable, "-c", program, "view", "@last"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )

    assert done.returncode == 2
    assert done.stderr == (
        "Error: The pages need packages that are not installed (jinja2 is missing). "
        "Install them: pip install 'prompt-evaluator[server]'\n"
    )


@pytest.mark.soak
def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    store = open_store(settings)
    few, many = large_run(store, 20, "few", samples=2), large_run(store, trials(100, soak=2_000), "many", samples=2)
    store.close()

    bundle(settings, [few], tmp_path / "few")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bundle(settings, [many], tmp_path / "many")

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 30_000
