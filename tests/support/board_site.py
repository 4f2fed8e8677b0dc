"""A store with models to rank and weeks of runs to follow, written straight into result rows."""

from __future__ import annotations

from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from hostile import HTML
from ranked_runs import add_ranked
from seeded_site import settings_of
from trend_runs import add_run, drawn

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.release import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.release import VerdictKind
    from prompt_evaluator.store import Store

RANKED, FOLLOWED, SHORT, HOSTILE = "contracts", "helpdesk", "short", 'x"><script>pwned=1;'
FELL, ROSE, BLIP = 7, 13, 4
"""Places of runs in `FOLLOWED`, the first of which is 0."""
RUNS = 18
_MODELS = (
    (4.4, 0.9, "hosted/large"),
    (4.3, 0.2, "hosted/medium"),
    (3.2, 0.5, "other/large"),
    (2.1, 0.03, "hosted/tiny"),
    (0.0, None, "local/open"),
    (3.3, 0.04, "hosted/small"),
)
_VERDICTS: tuple[VerdictKind, ...] = ("pass", "fail", "inconclusive")


class BoardSite(NamedTuple):
    """The ids of the runs."""

    followed: tuple[str, ...]
    """Of `FOLLOWED`, the oldest first."""
    ranked: tuple[str, ...]
    """Of `RANKED`, in the order of `_MODELS`."""
    other_version: tuple[str, ...]
    """Of another version of `FOLLOWED`, with another judge; older than the others."""


def fill(folder: Path, *, hostile: bool = True) -> BoardSite:
    """Fill the store of a folder that is configured; with `hostile`, also with names that try to break out."""
    with closing(open_store(settings_of(folder))) as store:
        earlier = tuple(
            add_run(store, at, drawn(Random(at), 3.6, cases=44), name=FOLLOWED, dataset="e2" * 32, judge="openai/old")
            for at in range(4)
        )
        followed = tuple(_followed(store, at) for at in range(RUNS))
        ranked = tuple(_ranked(store, at) for at in range(len(_MODELS)))
        add_ranked(store, 70, 4.9, 0.1, model="hosted/large", name=RANKED, dataset="c2" * 32)
        add_ranked(store, 71, 4.9, 0.1, model="hosted/large", name=RANKED, dataset="c1" * 32, judge="openai/other")
        for at in range(2):
            add_run(store, 80 + at, drawn(Random(at), 3.6), name=SHORT, dataset="a1" * 32)
        texts = list(HTML.values())
        for at, text in enumerate(texts[:4] if hostile else ()):
            add_ranked(store, 90 + at, 4.0, model=text, name=HOSTILE, dataset="b1" * 32, version=texts[4])
    return BoardSite(followed, ranked, earlier)


def _followed(store: Store, at: int) -> str:
    level = 2.9 if at == BLIP else 3.9 if at < FELL else 3.3 if at < ROSE else 4.2
    made = add_run(
        store,
        10 + at,
        drawn(Random(100 + at), level, cases=40),
        name=FOLLOWED,
        prompt="a" if at < FELL else "b",
        version="v1" if at < FELL else "v2",
        model="openai/small" if at < ROSE else "openai/large",
        temperature=0.9 if at == BLIP else None,
    )
    if at % 3 == 0:
        verdict = _VERDICTS[at // 3 % 3]
        store.add_verdict(Verdict(run_id=made, verdict=verdict, created_at="2026-02-01T00:00:00Z"))
    return made


def _ranked(store: Store, at: int) -> str:
    mean, cost, model = _MODELS[at]
    return add_ranked(store, 60 + at, mean, 0.25, model=model, name=RANKED, dataset="c1" * 32, totals={"cost": cost})
