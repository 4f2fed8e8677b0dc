"""What a report's page says, in which order, and what it may load and run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from comparisons import case, comparison, metric, same
from hostile import HOSTILE
from html_reports import (
    QUESTION,
    big_report,
    compare_report,
    hostile_comparison,
    hostile_report,
    little_report,
    run_report,
)

from prompt_evaluator.model.findings import Note
from prompt_evaluator.reports.html import compare_html, run_html
from prompt_evaluator.reports.safe_text import plain

TEXTS = list(HOSTILE.values())
BUNDLE = "window.vegaEmbed = null; // </script><!-- "
TAGS = set(
    """
    html head meta title style script body a header span nav button main div p h1 h2 h3 ul ol li section table caption
    thead tbody tr th td svg line circle rect details summary pre code bdi b aside dl dt dd figure figcaption noscript
    article time footer del ins
    """.split()  # noqa: SIM905 - fifty lines of quotes are not easier to read
)


class Seen(HTMLParser):
    """A page as a browser sees it."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.content: dict[str, list[str]] = {"script": [], "style": [], "title": [], "h1": [], "h2": [], "caption": []}
        self._open: list[str] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.content:
            self._open.append(tag)
            self.content[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == self._open[-1]:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for tag in self._open:
            self.content[tag][-1] += data
        if not {"script", "style"} & set(self._open):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page(report: Any, bundle: str | None = BUNDLE) -> str:
    return "".join(run_html(report, bundle=bundle))


def pair(report: Any, bundle: str | None = BUNDLE) -> str:
    return "".join(compare_html(report, bundle=bundle))


def policy(seen: Seen) -> str:
    (found,) = [each["content"] for each in seen.all("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    return found or ""


class TestWhatAPageMayDo:
    @pytest.mark.parametrize("made", [page(run_report()), pair(compare_report())], ids=["run", "compare"])
    def test_only_its_own_scripts_and_its_own_style_run(self, made: str) -> None:
        seen = Seen(made)
        own = [
            content
            for content, attributes in zip(seen.content["script"], seen.all("script"), strict=True)
            if attributes.get("type") != "application/json"
        ]
        hashes = [
            f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
            for each in (*own, *seen.content["style"])
        ]

        assert len(own) == 2
        assert policy(seen) == (
            f"default-src 'none'; script-src {hashes[0]} {hashes[1]}; style-src {hashes[2]}; img-src data:; "
            "base-uri 'none'; form-action 'none'"
        )

    def test_the_policy_comes_before_anything_it_is_about(self) -> None:
        made = page(run_report())

        assert made.index("Content-Security-Policy") < made.index("<style>") < made.index("<script>")

    @pytest.mark.parametrize(
        "made", [page(hostile_report(TEXTS)), pair(hostile_comparison(TEXTS))], ids=["run", "compare"]
    )
    def test_hostile_texts_add_nothing_but_text(self, made: str) -> None:
        seen = Seen(made)

        assert {tag for tag, _ in seen.tags} <= TAGS
        assert not [key for _, found in seen.tags for key in found if key.startswith("on") or key in ("style", "src")]
        assert all((each["href"] or "").startswith("#") for each in seen.all("a"))
        for hostile in TEXTS:
            assert plain(hostile[:500]).strip() in seen.text

    def test_a_page_without_charts_has_no_library(self) -> None:
        seen = Seen(page(little_report(), None))

        assert len(seen.content["script"]) == 1
        assert "charts" not in seen.text

    def test_a_page_can_be_written_as_utf_8(self) -> None:
        assert page(hostile_report(TEXTS)).encode()

    def test_specifications_are_data_that_cannot_end(self) -> None:
        report = run_report()
        tricky = {**report.charts[0].specification, "a": "</script>\u2028\ud800&"}
        chart = msgspec.structs.replace(report.charts[0], specification=tricky)
        made = page(msgspec.structs.replace(report, charts=(chart,)))

        (found,) = re.findall(r'id="chart-0-data">(.*?)</script>', made)
        assert re.fullmatch(r"[^<>&\u2028]*", found)
        assert json.loads(found)["a"] == "</script>\u2028\ud800&"


class TestARun:
    def test_says_everything_in_the_order_of_reading(self) -> None:
        seen = Seen(page(run_report()))

        assert seen.content["h2"] == [
            "What to do next",
            "Metrics",
            "Stability",
            "Flags",
            "Errors",
            "Worst cases",
            "Slices",
            "Cost and usage",
            "Charts",
            "Reproduce",
        ]
        links = [each["href"] for each in seen.all("a")]
        ids = {each.get("id") for each in seen.all("section")}
        assert links[0] == "#main"
        assert {(link or "")[1:] for link in links[1:]} == ids

    def test_the_verdict_is_the_heading_and_not_that_it_has_ended(self) -> None:
        seen = Seen(page(run_report()))

        assert seen.content["h1"] == ["!look closer9 of 50 cases fail; look at accuracy."]
        assert run_report().findings.headline.text in seen.text

    def test_folds_all_but_the_first_of_many_metrics_and_counts_what_is_too_much(self) -> None:
        base = run_report().findings
        many = tuple(msgspec.structs.replace(base.metrics[0], name=f"metric-{at}") for at in range(600))

        seen = Seen(page(run_report(findings=msgspec.structs.replace(base, metrics=many))))

        assert "Show 560 more metrics" in seen.text
        assert "100 more metrics not listed here." in seen.text

    def test_without_any_score_says_nothing_about_stability(self) -> None:
        report = run_report(findings=msgspec.structs.replace(run_report().findings, metrics=()), varying=())

        assert "Stability" not in Seen(page(report)).content["h2"]

    def test_what_must_be_known_before_any_number_comes_first(self) -> None:
        report = run_report()
        head = msgspec.structs.replace(
            report.findings.headline, synthetic=True, notes=(Note(code="synthetic", text="SYNTHETIC: made up."),)
        )
        found = msgspec.structs.replace(report.findings, headline=head)
        seen = Seen(page(msgspec.structs.replace(report, findings=found)))

        assert seen.text.index(head.text) < seen.text.index("SYNTHETIC: made up.") < seen.text.index("What to do next")

    def test_says_what_there_is_to_say(self) -> None:
        text = Seen(page(run_report())).text

        for said in (
            "3.62 ± 0.20",
            "3.42 to 3.82",
            "below 4",
            "94 %",
            "the judge",
            "not known: judged once",
            "7 of 250",
            "never raised",
            "api.openai.com answered 503 (unavailable)",
            QUESTION,
            "Explain pre-authorisations",
            "It names no date.",
            "data.yaml:12",
            "topic = billing",
            "too few",
            "$1.08 ($0.0043 per sample)",
            "5f" * 32,
            "temperature=0.7",
            "prompt-evaluator 1.2.3, Python 3.11.7",
            "--judge-model anthropic/claude-sonnet-4-0",
            "prompt-evaluator resume",
        ):
            assert said in text

    def test_a_metric_stands_with_its_number_of_cases(self) -> None:
        assert re.search(r"<th scope=\"row\">.*?accuracy.*?<td class=\"number\">50</td></tr>", page(run_report()))

    def test_only_the_first_case_is_unfolded(self) -> None:
        cases = [each for each in Seen(page(run_report())).all("details") if each.get("class") == "case"]

        assert ["open" in each for each in cases] == [True, False, False]

    def test_a_cost_that_is_not_known_is_unknown(self) -> None:
        report = run_report()
        assert report.findings.facts
        usage = msgspec.structs.replace(report.findings.facts.usage, cost=None)
        facts = msgspec.structs.replace(report.findings.facts, usage=usage)
        found = msgspec.structs.replace(report.findings, facts=facts)

        assert "Costunknown" in Seen(page(msgspec.structs.replace(report, findings=found))).text

    def test_one_sample_per_case_shows_nothing_about_stability(self) -> None:
        report = little_report()
        facts = msgspec.structs.replace(report.facts, num_samples=1)

        assert "cannot show whether answers vary" in Seen(page(msgspec.structs.replace(report, facts=facts))).text


class TestTwoRuns:
    def test_say_everything_in_the_order_of_reading(self) -> None:
        assert Seen(pair(compare_report())).content["h2"] == [
            "What to do next",
            "What differs",
            "Metrics",
            "Flags",
            "Errors, cost and speed",
            "Flipped cases",
            "Slices",
            "Charts",
            "Reproduce",
        ]

    def test_a_diff_keeps_its_signs(self) -> None:
        made = pair(compare_report())

        assert '<span class="removed"><bdi>-Be polite.\n' in made
        assert '<span class="added"><bdi>+Be polite and brief.\n' in made

    def test_what_is_not_listed_is_counted_as_changes_because_a_case_changes_on_several_metrics(self) -> None:
        names = ("clarity", "tone", "wit")
        flips = [case(f"case-{at}", of=name) for at in range(20) for name in names]
        made = compare_report(
            comparison({name: metric("worse", case_classes={"worse": 20}) for name in names}, {}, flips)
        )
        listed = len(made.findings.flipped.cases)

        assert listed < 60
        assert f"{60 - listed} more changes not listed here; a case may change" in Seen(pair(made)).text

    def test_words_that_differ_are_marked_in_both_answers(self) -> None:
        made = pair(compare_report())

        assert "<del>three</del>" in made
        assert "<ins>up</ins>" in made

    def test_the_band_of_what_does_not_matter_is_drawn_around_no_difference(self) -> None:
        (shape,) = re.findall(r'<rect x="([\d.]+)" width="([\d.]+)"[^>]*class="band"', pair(_one_metric()))
        left, width = map(float, shape)

        assert left + width / 2 == pytest.approx(84, abs=0.2)

    def test_both_commands_can_be_copied(self) -> None:
        made = pair(compare_report())

        assert made[made.index('id="reproduce"') :].count('class="copy"') == 2


def _one_metric() -> Any:
    return compare_report(comparison({"clarity": same(case_classes={"same": 50})}), charts=(), flipped=())


class TestEveryPage:
    @pytest.mark.parametrize(
        "made", [page(run_report()), pair(compare_report()), page(little_report())], ids=["run", "compare", "little"]
    )
    def test_has_landmarks_a_language_a_title_and_tables_that_can_be_listened_to(self, made: str) -> None:
        seen = Seen(made)

        assert seen.all("html") == [{"lang": "en"}]
        assert [len(seen.all(tag)) for tag in ("header", "nav", "main", "footer", "h1", "title")] == [1] * 6
        assert all(seen.content["title"])
        assert len(seen.content["caption"]) == len(seen.all("table"))
        assert all(seen.content["caption"])
        assert all(each.get("scope") in ("row", "col") for each in seen.all("th"))
        assert all(each.get("aria-label") for each in seen.all("svg"))
        ids = [each["id"] for _, each in seen.tags if "id" in each]
        assert len(ids) == len(set(ids))

    def test_says_what_its_charts_show_and_lists_their_numbers(self) -> None:
        report = run_report()
        seen = Seen(page(report))

        labels = {each["aria-label"] for each in seen.all("div") if each.get("class") == "chart"}
        assert labels == {chart.alternative for chart in report.charts}
        captions = seen.content["caption"]
        assert all(f"Numbers of the chart “{chart.title}”" in captions for chart in report.charts)

    def test_is_small_however_much_there_is(self) -> None:
        library = 900_000
        made = page(big_report("word & <tag> " * 400), None)

        assert len(made.encode()) + library < 5_000_000

    def test_is_made_in_pieces(self) -> None:
        pieces = list(run_html(big_report(), bundle=None))

        assert len(pieces) > 10
