"""Where the pages of a bundle are: an address of the server becomes a path to a file."""

from __future__ import annotations

from posixpath import dirname, relpath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORMS = frozenset(("view", "against", "sample", "diff", "sample_a", "sample_b", "different"))
"""Parameters that show a page in another form, of which a bundle has the first only."""
_Parameters = dict[str, list[str]]


class Compared(NamedTuple):
    """A comparison of two runs in a bundle."""

    folder: str
    metrics: Sequence[str]
    """Those with a page, the one that is shown first in front."""
    cases: Mapping[str, int]
    """The numbers of the cases with a page."""


class Addresses:
    """The files of a bundle."""

    def __init__(self, run_ids: Sequence[str]) -> None:
        """Start with runs that have no pages of cases.

        Args:
            run_ids: Whole ids.
        """
        self._cases: dict[str, Mapping[str, int]] = {run_id: {} for run_id in run_ids}
        self._compared: dict[tuple[str, str], Compared] = {}

    def add_cases(self, run_id: str, numbers: Mapping[str, int]) -> None:
        """Say which cases of a run have a page."""
        self._cases[run_id] = numbers

    def add_comparison(self, pair: tuple[str, str], compared: Compared) -> None:
        """Say that two runs are compared, the baseline first."""
        self._compared[pair] = compared

    def has(self, address: str) -> bool:
        """Whether there is a page for an address of the server."""
        return self._file(address) is not None

    def written(self, address: str, here: str) -> str | None:
        """An address of the server as a link from the file `here`; None if the bundle has no such page."""
        found = self._file(address)
        if found is None:
            return None
        file, parameters = found
        query, fragment = urlencode(parameters, doseq=True), urlsplit(address).fragment
        return (
            relpath(file, dirname(here) or ".") + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
        )

    def file(self, address: str) -> str:
        """The file of a page that the bundle has."""
        found = self._file(address)
        if found is None:
            raise KeyError(address)
        return found[0]

    def _file(self, address: str) -> tuple[str, _Parameters] | None:
        """The file, and the parameters that its script reads."""
        parts = urlsplit(address)
        given = parse_qs(parts.query)
        match [unquote(part) for part in parts.path.removeprefix("/").split("/")]:
            case [""]:
                return None if given else ("index.html", {})
            case ["assets", _, name]:
                return f"assets/{name}", {}
            case ["runs", run_id] if run_id in self._cases:
                return f"runs/{run_id}/index.html", _kept(given, "q", "sort", "after")
            case ["runs", run_id, "cases", case_id] if not _FORMS & given.keys():
                number = self._cases.get(run_id, {}).get(case_id)
                return (f"runs/{run_id}/cases/{number}.html", _kept(given, "q", "sort")) if number else None
            case ["compare"] if not _FORMS & given.keys():
                return self._comparison(given)
        return None

    def _comparison(self, given: _Parameters) -> tuple[str, _Parameters] | None:
        pair = given.get("a", [""])[0], given.get("b", [""])[0]
        found = self._compared.get(pair) if given else next(iter(self._compared.values()), None)
        if found is None:
            return None
        if "case" in given:
            number = found.cases.get(given["case"][0])
            return (f"{found.folder}/cases/{number}.html", {}) if number else None
        metric = given.get("metric", [""])[0]
        if metric and metric not in found.metrics:
            return None
        at = found.metrics.index(metric) if metric else 0
        return f"{found.folder}/{f'metric-{at + 1}' if at else 'index'}.html", _kept(given, "q", "start")


def _kept(given: _Parameters, *names: str) -> _Parameters:
    return {name: given[name] for name in names if name in given}
