"""Pages that come in slowly, as on a busy machine or a poor line: whatever moves meanwhile is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

_BYTES_A_SECOND = 120_000
"""A page comes in in many pieces, and the browser paints it half parsed."""
_SLOWER = 4
_LOADS = 3
"""What is wrong with a page moves every time. Now and then a piece ends within a line, which then becomes longer."""
_LEAST = 0.00005
"""What a word moves by whose line is not complete yet; a row that moves by a few pixels is more."""
OBSERVE = f"""window.moved = [];
new PerformanceObserver((list) => list.getEntries().forEach((each) => {{
  if (each.value < {_LEAST}) return;
  const place = ({{x, y, width, height}}) => [x, y, width, height].map(Math.round).join(" ");
  const name = ({{node}}) => (node?.outerHTML ?? node?.parentElement?.outerHTML ?? "something").slice(0, 120);
  each.sources.forEach((source) => window.moved.push(`${{innerWidth}} px, ${{each.value.toFixed(5)}}: ${{name(source)}}
    from ${{place(source.previousRect)}} to ${{place(source.currentRect)}}`));
}})).observe({{type: "layout-shift", buffered: true}})"""
"""A script that notes what moves in `window.moved`."""


def what_moves(page: Page, address: str, widths: Sequence[int] = (360, 1400)) -> list[str]:
    """Everything that moves while an address is opened at these widths, and widths at which it scrolls sideways."""
    page.goto(address)  # what all pages share is in the cache from now on
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    line = {"offline": False, "latency": 0, "downloadThroughput": _BYTES_A_SECOND, "uploadThroughput": _BYTES_A_SECOND}
    session.send("Network.emulateNetworkConditions", line)
    session.send("Emulation.setCPUThrottlingRate", {"rate": _SLOWER})
    page.add_init_script(OBSERVE)
    found: list[str] = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        found += _least_moved(page, address)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{width} px: the page scrolls sideways")
    session.detach()
    return found


def _least_moved(page: Page, address: str) -> list[str]:
    for _ in range(_LOADS):
        if not (found := _moved(page, address)):
            break
    return found


def _moved(page: Page, address: str) -> list[str]:
    page.goto("about:blank")  # an address with a fragment would not be loaded again
    page.goto(address, wait_until="load")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found: list[str] = page.evaluate("window.moved")
    return found
