"""Changes of a run over HTTP, and who may ask for them through a proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entries import each

if TYPE_CHECKING:
    from asgi_site import AsgiSite

_RUNS = "/api/v1/benchmarks/runs"


@each("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host"])
def test_a_proxy_in_front_of_a_server_without_tokens_is_refused(site: AsgiSite, header: str) -> None:
    answer = site.send("GET", _RUNS, headers=((header.lower(), "10.0.0.1"),))

    assert answer.status == 403
    assert "server.public_url" in answer.json["error"]
    assert answer.json["field"] == header.lower()


def test_tags_a_note_and_a_baseline_are_set_and_removed(site: AsgiSite) -> None:
    run = f"{_RUNS}/{site.run_ids[0]}"
    first = site.send("PATCH", run, {"tags": {"team": "search"}, "note": "the first", "baseline": "release"}).json
    then = site.send("PATCH", run, {"tags": {"team": None}, "note": None, "baseline": False}).json

    assert (first["tags"]["team"], first["note"], first["baseline_of"]) == ("search", "the first", ["release"])
    assert "team" not in then["tags"]
    assert (then["note"], then["baseline_of"]) == (None, [])


def test_a_change_with_something_wrong_in_it_stops_and_starts_nothing(site: AsgiSite) -> None:
    run = f"{_RUNS}/{site.run_ids[0]}"
    before = site.send("GET", run).json
    answer = site.send("PATCH", run, {"action": "resume", "retry_errors": True, "tags": {"none": None}})

    assert (answer.status, answer.json["field"]) == (422, "tags")
    assert site.send("GET", run).json == before


def test_a_baseline_is_not_deleted_until_it_is_unpinned(site: AsgiSite) -> None:
    run = f"{_RUNS}/{site.run_ids[1]}"
    site.send("PATCH", run, {"baseline": True})
    refused = site.send("DELETE", run)
    site.send("PATCH", run, {"baseline": False})

    assert refused.status == 409
    assert "pinned" in refused.json["error"]
    assert site.send("DELETE", run).status == 204
    assert site.send("GET", run).status == 404


def test_a_run_that_waits_keeps_the_time_when_it_was_asked_for(site: AsgiSite) -> None:
    made = site.send("POST", _RUNS, {"dataset": "basic-coding", "model": "mock/default"}).json
    listed = site.send("GET", f"{_RUNS}?status=queued").json["runs"]
    cancelled = site.send("PATCH", f"{_RUNS}/{made['id']}", {"action": "cancel"}).json

    assert made["started_at"] is None
    assert [run["id"] for run in listed] == [made["id"]]
    assert listed[0]["queue_position"] == 0
    assert cancelled["created_at"] == made["created_at"]
    assert (cancelled["status"], cancelled["stop_reason"]) == ("aborted", "cancelled by local")


@each(
    ("samples", "said"),
    [
        (10**400, "samples has to be a whole number from 1 to 10,000."),
        (1_000_000_000, "samples has to be a whole number from 1 to 10,000."),
        (5_000, "samples is 5,000, but this server allows at most 100."),
    ],
    ids=["of 400 digits", "beyond every server", "beyond this server"],
)
def test_more_samples_than_are_allowed_are_refused_in_plain_figures(site: AsgiSite, samples: int, said: str) -> None:
    asked = {"dataset": "basic-coding", "model": "mock/x", "samples": samples}
    answer = site.send("POST", "/api/v1/benchmarks/estimate", asked)

    assert (answer.status, answer.json) == (422, {"error": said, "field": "samples"})


def test_a_text_or_a_list_that_is_too_long_is_told_in_words(site: AsgiSite) -> None:
    long_text = site.send("POST", "/api/v1/benchmarks/estimate", {"where": ["x" * 301]}).json
    long_list = site.send("POST", "/api/v1/benchmarks/estimate", {"models": ["mock/x"] * 51}).json
    no_text = site.send("POST", "/api/v1/benchmarks/estimate", {"dataset": ""}).json

    assert long_text == {"error": "where[0] has to be a text of at most 300 characters.", "field": "where[0]"}
    assert long_list == {"error": "models has to be a list of at most 50 items.", "field": "models"}
    assert no_text == {"error": "dataset has to be a text of at least 1 character.", "field": "dataset"}
