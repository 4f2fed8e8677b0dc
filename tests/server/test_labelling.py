"""Labelling over HTTP: under one's own name, blind, and with everything that a correction needs."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from asgi_site import AsgiSite, asgi_site, said
from entries import each
from seeded_site import large_run, settings_of, write_files

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from asgi_site import Answer

API = "/api/v1/benchmarks"
LABELS = f"{API}/labels"
PAGE = "/runs/large/label?metric=clarity&count=8"
GIVEN = {"run": "large", "case_id": "case-00001", "sample": 0, "metric": "clarity", "value": 3}


class Team:
    """A site that needs tokens, asked by its members."""

    def __init__(self, site: AsgiSite) -> None:
        self.site = site
        names = {"anna": "labeller", "ben": "labeller", "carl": "labeller", "vera": "viewer", "root": "admin"}
        self._tokens = {name: said("token", "create", name, "--role", role).strip() for name, role in names.items()}

    def ask(self, who: str, method: str, path: str, value: Any = None) -> Answer:
        headers = (("authorization", f"Bearer {self._tokens[who]}"), ("accept", "text/html"))
        return self.site.send(method, path, value, headers=headers)

    def page(self, who: str, more: str = "") -> str:
        return self.ask(who, "GET", PAGE + more).body.decode()


def asked(page: str) -> dict[str, Any]:
    """What the page sends when a key is pressed, but for the score."""
    found = dict(re.findall(r'data-(case|number|probability|answer-hash|judge-seen)="([^"]*)"', page))
    return {
        **GIVEN,
        "case_id": found["case"],
        "sample": int(found["number"]),
        "probability": float(found["probability"]),
        "answer_hash": found["answer-hash"],
        "judge_seen": found["judge-seen"] == "true",
    }


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder: Path = tmp_path_factory.mktemp("team")
    write_files(folder, 2)
    with closing(open_store(settings_of(folder))) as store:
        large_run(store, 30, samples=2)
    with asgi_site(folder, make=False, host="0.0.0.0") as site:
        yield Team(site)


def test_nobody_labels_under_the_name_of_somebody_else_except_admins(team: Team) -> None:
    refused = team.ask("ben", "POST", LABELS, {**GIVEN, "reviewer": "anna"})
    own = team.ask("ben", "POST", LABELS, {**GIVEN, "reviewer": "ben"})
    implied = team.ask("ben", "POST", LABELS, {**GIVEN, "value": 4})
    named = team.ask("root", "POST", LABELS, {**GIVEN, "reviewer": "anna"})

    assert (refused.status, refused.json["field"]) == (403, "reviewer")
    assert "'ben'" in refused.json["error"]
    assert [answer.json["reviewer"] for answer in (own, implied, named)] == ["ben", "ben", "anna"]


def test_a_viewer_reads_labels_and_gives_none(team: Team) -> None:
    assert team.ask("vera", "POST", LABELS, GIVEN).status == 403
    assert team.ask("vera", "GET", f"{LABELS}?run=large").status == 200
    assert team.ask("vera", "GET", PAGE).status == 403
    assert b"/runs/large/label" not in team.ask("vera", "GET", "/runs/large").body
    assert b"/runs/large/label" in team.ask("anna", "GET", "/runs/large").body
    assert b"quick-label" not in team.ask("vera", "GET", "/runs/large/cases/case-00001").body
    assert b"data-quick-label" in team.ask("anna", "GET", "/runs/large/cases/case-00001").body


def test_one_answer_comes_after_the_other_with_the_judge_hidden_until_the_label(team: Team) -> None:
    first = team.page("carl")
    given = asked(first)
    early = team.page("carl", f"&after={given['case_id']}&sample={given['sample']}")
    made = team.ask("carl", "POST", LABELS, {**given, "comment": "☕"}).json
    after = team.page("carl", f"&after={given['case_id']}&sample={given['sample']}")

    assert ["because" in page for page in (first, early, after)] == [False, False, True]
    assert (made["probability"], made["judge_seen"], made["comment"]) == (8 / 59, False, "☕")
    assert "1 of 8 labelled" in after
    assert (asked(after)["case_id"], asked(after)["sample"]) != (given["case_id"], given["sample"])
    assert asked(team.page("anna")) == given  # a second opinion on the same answer


def test_what_was_skipped_is_left_out_and_the_end_says_so(team: Team) -> None:
    first, second = asked(team.page("ben")), asked(team.page("ben", "&skip=1"))
    end = team.page("ben", "&skip=8")

    assert (first["case_id"], first["sample"]) != (second["case_id"], second["sample"])
    assert "of 8 answers labelled" in end
    assert "You skipped the others." in end


def test_the_first_page_asks_what_to_label_and_where_no_token_is_needed_who_labels(team: Team, tmp_path: Path) -> None:
    page = team.ask("anna", "GET", "/runs/large/label").body.decode()
    assert 'value="clarity"' in page
    assert 'name="reviewer"' not in page
    write_files(tmp_path, 2)
    with closing(open_store(settings_of(tmp_path))) as store:
        large_run(store, 3)
    with asgi_site(tmp_path, make=False) as site:
        assert b'name="reviewer"' in site.send("GET", PAGE, headers=(("accept", "text/html"),)).body


@each(
    ("method", "path", "given", "status"),
    [
        ("POST", LABELS, {"value": 9}, 422),
        ("POST", LABELS, {"answer_hash": "f" * 64}, 422),
        ("POST", LABELS, {"probability": 0}, 422),
        ("POST", LABELS, {"sample": 2}, 422),
        ("POST", LABELS, {"metric": "none"}, 422),
        ("POST", LABELS, {"case_id": "none"}, 404),
        ("POST", LABELS, {"run": "none"}, 404),
        ("GET", "/runs/none/label", None, 404),
        ("GET", "/runs/large/label?metric=none", None, 422),
        ("GET", "/runs/large/label?metric=clarity&count=0", None, 422),
    ],
)
def test_what_does_not_fit_is_refused(team: Team, method: str, path: str, given: Any, status: int) -> None:
    assert team.ask("anna", method, path, given and {**GIVEN, **given}).status == status
