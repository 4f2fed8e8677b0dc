"""Takes the pictures of the dashboard: `make pictures`. The runs are made by the mock in a folder of their own."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from board_site import fill as fill_boards
from data_site import make_data_site
from seeded_site import large_run, seed
from served import served
from sliced_site import fill
from workspace import Workspace

from browser import chromium, launched
from pictures import PICTURES, make_small
from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from playwright.sync_api import Browser, Page
    from seeded_site import Seeded

_WIDE = (1400, 1000)
_LARGE = 20_000
_DRAWN = """() => [...document.querySelectorAll("figure[data-chart] .chart")]
    .every((each) => each.dataset.drawn && each.querySelector(".for-print svg"))"""


class DashboardPicture(NamedTuple):
    """One picture: which address, with names of runs in braces, and how it is looked at."""

    path: str
    size: tuple[int, int] = _WIDE
    dark: bool = False
    site: str = "seeded"
    """`seeded`, `large`, `boards`, or `data`: with versions of datasets and a history of the harness."""


NAMED = {
    "dashboard-run-1400": DashboardPicture("/runs/{better}", (1400, 1300)),
    "dashboard-compare-1400": DashboardPicture("/compare?a={baseline}&b={better}", (1400, 1300)),
    "slices-1400": DashboardPicture("/runs/{sliced}/slices", site="large"),
    "errors-1400": DashboardPicture("/runs/{with_errors}/errors"),
    "trends-1400": DashboardPicture("/trends?dataset=helpdesk", site="boards"),
    "harness-1400": DashboardPicture("/harness", (1400, 1400), site="data"),
}


class Sites(NamedTuple):
    """Addresses of servers with different stores, and the runs of the seeded one."""

    addresses: dict[str, str]
    runs: dict[str, str]


@contextmanager
def running_sites(folder: Path, names: Iterable[str] = tuple(NAMED), *, cases: int = _LARGE) -> Iterator[Sites]:
    """The seeded site and those that some pictures need.

    Args:
        folder: An empty one.
        names: Of the pictures.
        cases: How many are far too many.
    """
    needed = {NAMED[name].site for name in names}
    found: Seeded = seed(folder / "seeded", called="/home/team/support")
    workspaces, named = {"seeded": Workspace(folder / "seeded")}, {**found._asdict()}
    if "large" in needed:
        workspaces["large"] = Workspace(folder / "large")
        workspaces["large"].configure()
        with closing(open_store(_settings(folder / "large"))) as store:
            large_run(store, cases)
        named["sliced"] = fill(folder / "large").run
    if "data" in needed:
        named |= make_data_site(folder / "data", hostile=False)._asdict()
        workspaces["data"] = Workspace(folder / "data")
    if "boards" in needed:
        workspaces["boards"] = Workspace(folder / "boards")
        workspaces["boards"].configure(version=1)
        fill_boards(folder / "boards", hostile=False)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(served(each)) for name, each in workspaces.items()}
        servers["seeded"].client.delete(found.hostile)  # texts that only a test wants to see
        addresses = {name: server.address for name, server in servers.items()}
        yield Sites(addresses, {name: value for name, value in named.items() if isinstance(value, str)})


def _settings(folder: Path) -> Any:
    from seeded_site import settings_of  # noqa: PLC0415

    return settings_of(folder)


def take_dashboard_pictures(
    sites: Sites, folder: Path, browser: Browser, names: Iterable[str] = tuple(NAMED)
) -> Iterator[Path]:
    """Write pictures into a folder, by default all that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path, picture = folder / f"{name}.png", NAMED[name]
        with _opened(picture, sites, browser) as page:
            page.screenshot(path=path)
        make_small(path)
        yield path


@contextmanager
def _opened(picture: DashboardPicture, sites: Sites, browser: Browser) -> Iterator[Page]:
    width, height = picture.size
    scheme: Any = "dark" if picture.dark else "light"
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    try:
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.goto(sites.addresses[picture.site] + picture.path.format(**sites.runs))
        page.wait_for_load_state("networkidle")
        page.wait_for_function(_DRAWN)
        yield page
    finally:
        context.close()


def main() -> None:
    program = chromium()
    if program is None:
        sys.exit("There is no Chromium here. Install it, such as Debian's package `chromium-headless-shell`.")
    with tempfile.TemporaryDirectory() as made, launched(program) as browser, running_sites(Path(made)) as sites:
        for path in take_dashboard_pictures(sites, PICTURES, browser):
            print(f"{path.relative_to(PICTURES.parent)}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
