"""The frame of a report's page: one file that loads nothing, runs only its own scripts, and is read from disk."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from prompt_evaluator.reports.html.markup import Html, element, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PRODUCT = "prompt-evaluator"


def page(
    title: str, sections: Iterable[Html], *, links: Sequence[tuple[str, str]], made: str, bundle: str | None
) -> Iterator[str]:
    """Yield the page in pieces.

    Args:
        title: Of the window.
        sections: What stands in the page, in order.
        links: To its sections: their ids and names.
        made: When and by what the page was made.
        bundle: The JavaScript that draws charts; None if there are none to draw.
    """
    library = _embedded(bundle) if bundle else None
    yield f"<!doctype html>\n{_START}"
    yield _head(title, page_policy(bundle)).source
    yield f"<body>{_top(links).source}<main id=main tabindex=-1>\n"
    for section in sections:
        yield f"{section.source}\n"
    yield f"</main>{element('footer', element('p', made)).source}"
    if library:
        yield "<script>"
        yield library
        yield "</script>"
    yield "</body></html>\n"


_START = '<html lang="en">'


def page_policy(bundle: str | None) -> str:
    """What a browser may load and run in a page with this bundle: its own parts, by their hashes, and nothing else."""
    scripts = [_asset("report.js"), *([_embedded(bundle)] if bundle else [])]
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            f"style-src {_hash(_asset('style.css'))}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _embedded(bundle: str) -> str:
    """The bundle as it stands in the page, where nothing in it may end the script."""
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _head(title: str, policy: str) -> Html:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(trusted=_asset("style.css"))),
        element("script", Html(trusted=_asset("report.js"))),
    )


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _top(links: Sequence[tuple[str, str]]) -> Html:
    return join(
        [
            element("a", "Skip to the report", href="#main", class_="skip"),
            element(
                "header",
                element("span", _PRODUCT, class_="brand"),
                element(
                    "nav",
                    *(element("a", name, href=f"#{id_}") for id_, name in links),
                    aria_label="Parts of the report",
                ),
                element("button", "Theme: system", type="button", id="theme", hidden=True),
                class_="top",
            ),
        ]
    )


@cache
def _asset(name: str) -> str:
    return files("prompt_evaluator.reports.html").joinpath(name).read_text("utf-8")
