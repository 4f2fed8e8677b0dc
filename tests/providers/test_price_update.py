"""`providers update-prices`: current prices, if somebody asks for them."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prompt_evaluator.providers.price_table import read_table
from prompt_evaluator.providers.prices import shipped_prices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace import Done, Workspace

SAMPLE = Path(__file__).with_name("data_slim.json").read_bytes()
"""A few models of the real file, in its form."""


@contextmanager
def serving(content: bytes, status: int = 200) -> Iterator[str]:
    """An address with this content."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/data_slim.json"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def folder(offline: Workspace) -> Workspace:
    offline.environment["PROMPT_EVALUATOR_DATA"] = str(offline.folder / "data")
    return offline


def update(folder: Workspace, content: bytes, status: int = 200) -> Done:
    with serving(content, status) as address:
        return folder.run("providers", "update-prices", "--from", address)


def kept(folder: Workspace) -> Path:
    return folder.folder / "data" / "prices.json"


def fetched_on(folder: Workspace, day: str) -> None:
    """Fetch the sample as if it were this day: which table is newer must not depend on when the test runs."""
    assert update(folder, SAMPLE).code == 0
    kept(folder).write_text(json.dumps(json.loads(kept(folder).read_bytes()) | {"as_of": day}))


def estimated(folder: Workspace, model: str) -> str:
    done = folder.run("evaluate-dataset", "-i", "x", "-s", "prompt.txt", "--generator-model", model, "--estimate")
    return next(line for line in done.out.splitlines() if line.startswith("Cost"))


def test_fetched_prices_are_used_from_then_on_and_a_run_says_which_it_used(folder: Workspace) -> None:
    folder.environment["OPENAI_API_KEY"] = "test-key-1234567890"
    before, without = estimated(folder, "openai/gpt-4o"), folder.evaluate("-n", "1").artifact["prices"]

    fetched_on(folder, "9999-12-31")

    table = read_table(kept(folder).read_bytes())
    assert table.sha256 == hashlib.sha256(SAMPLE).hexdigest()
    assert estimated(folder, "openai/gpt-4o") != before
    used = folder.evaluate("-n", "1").artifact["prices"]
    assert used == {
        "as_of": table.as_of,
        "hash": f"sha256:{hashlib.sha256(kept(folder).read_bytes()).hexdigest()}",
        "assumed": None,
    }
    assert used["hash"] != without["hash"]


def test_an_older_table_than_the_shipped_one_is_not_used(folder: Workspace) -> None:
    fetched_on(folder, "2020-01-01")

    assert folder.evaluate("-n", "1").artifact["prices"]["as_of"] == shipped_prices().table.as_of


def test_one_line_says_what_changed(folder: Workspace) -> None:
    fetched_on(folder, "9999-12-31")

    done = update(folder, SAMPLE.replace(b'"input_mtok":25', b'"input_mtok":24'))

    assert done.out.startswith("Prices of 4 models as of ")
    assert done.out.endswith(" (before: 9999-12-31): 0 new, 1 with other prices, 0 gone.\n")


@pytest.mark.parametrize(
    ("content", "status", "code", "words"),
    [
        (b"gone", 404, 3, "it answered with status 404"),
        (b"<html>", 200, 2, "is not data of genai-prices"),
        (b'{"a": 1}', 200, 2, "Expected `array`, got `object`"),
        (b"[]", 200, 2, "none of the services is in it"),
        (SAMPLE.replace(b'"input_mtok":25', b'"input_mtok":-25'), 200, 2, "Expected `float` >= 0"),
        (SAMPLE.replace(b'"starts_with"', b'"sounds_like"'), 200, 2, "the match 'sounds_like' is not known"),
    ],
    ids=["missing", "no json", "an object", "empty", "negative", "unknown match"],
)
def test_what_cannot_be_used_is_one_sentence_and_changes_nothing(
    folder: Workspace, content: bytes, status: int, code: int, words: str
) -> None:
    update(folder, SAMPLE)
    before = kept(folder).read_bytes()

    done = update(folder, content, status)

    assert done.code == code
    assert words in done.err
    assert done.err.endswith("The prices stay as they are.\n")
    assert kept(folder).read_bytes() == before


def test_without_a_network_nothing_is_kept(folder: Workspace) -> None:
    with serving(SAMPLE) as address:
        pass

    done = folder.run("providers", "update-prices", "--from", address)

    assert done.code == 3
    assert "Connection refused" in done.err
    assert not kept(folder).exists()


def test_only_a_web_address_is_fetched_from(folder: Workspace) -> None:
    done = folder.run("providers", "update-prices", "--from", Path(__file__).as_uri())

    assert done.code == 2
    assert "not a web address" in done.err


def test_a_damaged_table_is_an_error_until_it_is_fetched_again(folder: Workspace) -> None:
    kept(folder).parent.mkdir()
    kept(folder).write_text('{"as_of": 1}')

    refused = folder.evaluate("-n", "1")

    assert refused.code == 2
    assert f"{kept(folder)}: the table of prices cannot be read" in refused.err
    assert update(folder, SAMPLE).code == 0
    assert folder.evaluate("-n", "1").code == 0
