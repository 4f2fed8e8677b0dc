"""Charts as files, and the script that draws them in a page."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import chart_samples
import pytest

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.chart import Chart
from prompt_evaluator.reports.chart_files import can_draw, javascript_bundle, png, specification_file, svg
from prompt_evaluator.reports.charts import make_chart

if TYPE_CHECKING:
    from pathlib import Path

BUNDLE = "from prompt_evaluator.reports.chart_files import javascript_bundle; print(len(javascript_bundle()))"


def test_a_png_has_two_pixels_for_each_one_of_the_chart() -> None:
    chart = make_chart(chart_samples.flags())

    picture, drawing = png(chart), svg(chart)

    width = int(drawing.partition('width="')[2].partition('"')[0])
    assert picture.startswith(b"\x89PNG")
    assert abs(int.from_bytes(picture[16:20], "big") - 2 * width) <= 2


def test_themes_change_colours_and_nothing_else() -> None:
    chart = make_chart(chart_samples.flags())

    light, dark = svg(chart, "light"), svg(chart, "dark")

    assert 'fill="#ffffff"' in light
    assert 'fill="#16181d"' in dark
    assert light.count("<text") == dark.count("<text")


def test_a_specification_as_a_file_says_what_it_is_and_contains_its_data() -> None:
    written = json.loads(specification_file(make_chart(chart_samples.flags()), "dark"))

    assert written["$schema"].endswith("vega-lite/v6.json")
    assert written["config"]["background"] == "#16181d"
    assert written["layer"][0]["data"]["values"]


def test_the_script_is_made_once_and_kept_for_this_version(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    made = javascript_bundle(environment)

    (kept,) = (tmp_path / "cache" / "prompt-evaluator").iterdir()
    assert "vegaEmbed" in made
    assert kept.read_text("utf-8") == made
    kept.write_text("/* ours */" + made, "utf-8")
    assert javascript_bundle(environment).startswith("/* ours */")


def test_half_a_script_is_made_again(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    made = javascript_bundle(environment)
    (kept,) = (tmp_path / "prompt-evaluator").iterdir()
    kept.write_text(made[: len(made) // 2], "utf-8")

    assert javascript_bundle(environment) == made
    assert kept.read_text("utf-8") == made


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "prompt-evaluator").write_text("a file where the folder should be", "utf-8")

    assert "vegaEmbed" in javascript_bundle({"XDG_CACHE_HOME": str(tmp_path)})


def test_a_relative_cache_folder_is_ignored(tmp_path: Path) -> None:
    javascript_bundle({"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path)})

    assert list((tmp_path / ".cache" / "prompt-evaluator").iterdir())


def test_two_processes_make_the_script_at_once(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": ""}
    both = [
        subprocess.Popen([sys.executable, "-c", BUNDLE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    sizes = {process.communicate()[0] for process in both}

    (kept,) = (tmp_path / "prompt-evaluator").iterdir()
    assert sizes == {f"{len(kept.read_text('utf-8'))}\n"}


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    chart = make_chart(chart_samples.flags())

    assert not can_draw()
    for draw in (svg, png):
        with pytest.raises(ConfigurationError, match=r"pip install 'prompt-evaluator\[charts\]'"):
            draw(chart)
    with pytest.raises(ConfigurationError, match=r"pip install 'prompt-evaluator\[charts\]'"):
        javascript_bundle()
    assert specification_file(chart)


def test_a_specification_that_cannot_be_drawn_is_an_error_in_one_line() -> None:
    chart = Chart(kind="flags", title="Broken", alternative="", specification={"mark": 5})

    for draw in (svg, png):
        with pytest.raises(ConfigurationError, match=r"The chart 'Broken' cannot be drawn: ") as found:
            draw(chart)
        assert "\n" not in str(found.value)


def test_making_a_chart_does_not_load_what_draws_it() -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests/support'); import prompt_evaluator.reports.charts, "
        "prompt_evaluator.reports.chart_files as files; print(files.can_draw(), 'vl_convert' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "True False\n"
