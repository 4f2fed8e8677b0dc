"""Pages of reports in a browser."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from browser import Opened, opened, running_browser
from prompt_evaluator.model.report import RunReport
from prompt_evaluator.reports.chart_files import javascript_bundle
from prompt_evaluator.reports.html import compare_html, run_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from prompt_evaluator.model.report import CompareReport


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for a module: while it is open, an event loop is running, and no test can run another."""
    with running_browser() as found:
        yield found


@pytest.fixture(scope="session")
def bundle() -> str:
    return javascript_bundle()


@pytest.fixture
def show(browser: Browser, bundle: str, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Write a report and open it from disk."""
    with ExitStack() as stack:

        def show(report: RunReport | CompareReport, **more: Any) -> Opened:
            path = tmp_path / "report.html"
            if isinstance(report, RunReport):
                pieces = run_html(report, bundle=bundle)
            else:
                pieces = compare_html(report, bundle=bundle)
            path.write_text("".join(pieces), "utf-8")
            return stack.enter_context(opened(browser, path, **more))

        yield show
