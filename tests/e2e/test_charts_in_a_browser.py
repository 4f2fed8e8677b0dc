"""Every chart is drawn in a browser under a content security policy, and hostile names do nothing there."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import chart_samples

from browser import running_browser
from prompt_evaluator.reports.chart_files import javascript_bundle
from prompt_evaluator.reports.chart_theme import theme_config
from prompt_evaluator.reports.charts import make_chart

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = """<!doctype html><meta charset="utf-8"><body>
<script src="/bundle.js" type="module"></script>
<script src="/start.js" type="module"></script>"""
START = """
window.failures = [];
(async () => {
  for (const [name, chart] of Object.entries(CHARTS)) {
    const place = document.createElement("div");
    place.id = name;
    document.body.append(place);
    const options = {mode: "vega-lite", config: CONFIG, ast: true, actions: false, renderer: "svg",
                     defaultStyle: false, tooltip: {disableDefaultStyle: true}};
    try { await vegaEmbed(place, chart, options); } catch (error) { window.failures.push(`${name}: ${error}`); }
  }
  window.finished = true;
})();
"""


@contextmanager
def serving(files: dict[str, tuple[str, str]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, text = files.get(self.path, ("text/plain", ""))
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Security-Policy", "default-src 'self'")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True  # closing it waits for no connection that a browser has opened in advance
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(30)


def test_every_chart_is_drawn_without_eval_and_hostile_names_do_nothing() -> None:
    plain = {f"plain-{kind}": make_chart(make()).specification for kind, make in chart_samples.EVERY_KIND.items()}
    hostile = {f"hostile-{kind}": make_chart(data).specification for kind, data in chart_samples.hostile().items()}
    charts = json.dumps(plain | hostile)
    start = f"const CHARTS = {charts};\nconst CONFIG = {json.dumps(theme_config('dark'))};\n{START}"
    files = {
        "/": ("text/html", PAGE),
        "/bundle.js": ("text/javascript", javascript_bundle()),
        "/start.js": ("text/javascript", start),
    }
    said: list[str] = []
    with serving(files) as address, running_browser() as browser:
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.goto(address)
        page.wait_for_function("window.finished === true", timeout=120_000)
        failures = page.evaluate("window.failures")
        drawn: dict[str, Any] = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('body > div')]"
            ".map(each => [each.id, each.querySelectorAll('svg text').length]))"
        )

    assert failures == []
    assert said == []
    assert set(drawn) == set(plain | hostile)
    assert all(texts > 5 for texts in drawn.values())
