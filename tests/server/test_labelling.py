"""Labelling over HTTP: under one's own name, blind, and with everything that a correction needs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from asgi_site import AsgiSite, asgi_site, said
from seeded_site import large_run, settings_of, write_files

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from asgi_site import Answer

API = "/api/v1/benchmarks"


class Team:
    """A site that needs tokens, asked by its members."""

    def __init__(self, site: AsgiSite) -> None:
        self.site = site
        names = {"anna": "labeller", "ben": "labeller", "carl": "labeller", "vera": "viewer", "root": "admin"}
        self._tokens = {name: said("token", "create", name, "--role", role).strip() for name, role in names.items()}

    def ask(self, who: str, method: str, path: str, value: Any = None) -> Answer:
        headers = (("authorization", f"Bearer {self._tokens[who]}"), ("accept", "text/html"))
        return self.site.send(method, path, value, headers=headers)

    def queue(self, **more: Any) -> str:
        asked = {"run": "large", "metric": "clarity", "size": 8, "draw": "stratified", **more}
        answer = self.ask("anna", "POST", f"{API}/label-queues", asked)
        assert answer.status == 201, answer.body
        return f"{API}/label-queues/{answer.json['queue']['id']}"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder: Path = tmp_path_factory.mktemp("team")
    write_files(folder, 2)
    with closing(open_store(settings_of(folder))) as store:
        large_run(store, 30, samples=2)
    with asgi_site(folder, make=False, host="0.0.0.0") as site:
        yield Team(site)


@pytest.mark.parametrize("place", ["queue", "labels"])
def test_nobody_labels_under_the_name_of_somebody_else_except_admins(team: Team, place: str) -> None:
    queue = team.queue()
    path = f"{queue}/labels" if place == "queue" else f"{API}/labels"
    given: dict[str, Any] = {"place": 1, "value": 3}
    if place == "labels":
        given = {"run": "large", "case_id": "case-00001", "sample": 0, "metric": "clarity", "value": 3}

    refused = team.ask("ben", "POST", path, {**given, "reviewer": "anna"})
    own = team.ask("ben", "POST", path, {**given, "reviewer": "ben"})
    implied = team.ask("ben", "POST", path, {**given, "value": 4})
    named = team.ask("root", "POST", path, {**given, "reviewer": "anna"})

    assert (refused.status, refused.json["field"]) == (403, "reviewer")
    assert "'ben'" in refused.json["error"]
    made = [answer.json.get("label") or answer.json for answer in (own, implied, named)]
    assert [each["reviewer"] for each in made] == ["ben", "ben", "anna"]


def test_a_viewer_reads_queues_and_changes_nothing(team: Team) -> None:
    queue = team.queue()
    for path, given in (
        (f"{API}/label-queues", {"run": "large", "metric": "clarity"}),
        (f"{queue}/next", {}),
        (f"{queue}/labels", {"place": 1, "value": 3}),
        (f"{queue}/skips", {"place": 1}),
        (f"{queue}/undo", {}),
    ):
        assert team.ask("vera", "POST", path, given).status == 403, path
    assert team.ask("vera", "GET", f"{API}/label-queues?run=large").json["queues"]
    assert team.ask("vera", "GET", "/labels").status == 200
    assert b'href="/labels/' not in team.ask("vera", "GET", "/labels").body
    assert team.ask("vera", "GET", "/labels/large").status == 403
    assert b"quick-label" not in team.ask("vera", "GET", "/runs/large/cases/case-00001").body
    assert b"data-quick-label" in team.ask("anna", "GET", "/runs/large/cases/case-00001").body


def test_two_reviewers_get_different_samples_and_each_their_own_again(team: Team) -> None:
    queue = team.queue()
    got = [team.ask(who, "POST", f"{queue}/next", {}).json["place"] for who in ("anna", "ben", "anna", "ben")]

    assert got == [1, 2, 1, 2]


def test_a_page_shows_the_judge_only_after_the_label_or_if_it_is_asked_to(team: Team) -> None:
    queue = team.queue()
    address = f"/labels/large?queue={queue.rpartition('/')[2]}"
    blind = team.ask("anna", "GET", f"{address}&place=1").body
    early = team.ask("anna", "GET", f"{address}&place=2&after=1").body
    shown = team.ask("anna", "GET", f"{address}&place=1&judge=1").body
    team.ask("anna", "POST", f"{queue}/labels", {"place": 1, "value": 3})
    after = team.ask("anna", "GET", f"{address}&place=2&after=1").body
    listed = team.ask("anna", "GET", f"{address}&view=labelled").body

    assert [b"because" in page for page in (blind, early, shown, after)] == [False, False, True, True]
    assert b'data-reviewer="anna"' in blind
    assert b"1 of 8 samples labelled" in listed
    assert listed.count(b"<tr data-href") == 1


def test_a_label_of_a_queue_keeps_its_probability_and_whether_the_judge_was_seen(team: Team) -> None:
    queue = team.queue()  # of samples that carl, unlike others, has not seen in another test
    first = team.ask("carl", "POST", f"{queue}/labels", {"place": 1, "value": 3, "comment": "☕"}).json
    second = team.ask("carl", "POST", f"{queue}/labels", {"place": 2, "value": 5, "judge_seen": True}).json

    assert 0 < first["label"]["probability"] <= 1
    assert (first["label"]["judge_seen"], second["label"]["judge_seen"]) == (False, True)
    assert (first["label"]["comment"], first["progress"]["labelled"], second["progress"]["labelled"]) == ("☕", 1, 2)
    assert second["agreement"]["labels"] == 2


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("{queue}/labels", {"place": 1, "value": 9}, 422),
        ("{queue}/labels", {"place": 1, "value": 3, "answer_hash": "f" * 64}, 422),
        ("{queue}/labels", {"place": 99, "value": 3}, 404),
        ("{queue}/labels", {"place": 0, "value": 3}, 422),
        (f"{API}/label-queues/x/next", {}, 404),
        (f"{API}/label-queues/{'9' * 40}/next", {}, 404),
        (f"{API}/label-queues", {"run": "large", "metric": "none"}, 422),
        (f"{API}/label-queues", {"run": "none", "metric": "clarity"}, 404),
        (f"{API}/label-queues", {"run": "large", "metric": "clarity", "size": 0}, 422),
        (f"{API}/label-queues", {"run": "large", "metric": "clarity", "draw": "best"}, 422),
    ],
)
def test_what_does_not_fit_is_refused(team: Team, path: str, given: dict[str, Any], status: int) -> None:
    answer = team.ask("anna", "POST", path.format(queue=team.queue()), given)

    assert (answer.status, bool(answer.json["error"])) == (status, True)


def test_the_queue_of_another_run_is_not_found(team: Team) -> None:
    with closing(open_store(team.site.site.settings)) as store:
        large_run(store, 2, run_id="another", samples=2)
    number = team.queue().rpartition("/")[2]

    assert team.ask("anna", "GET", f"/labels/another?queue={number}").status == 404
