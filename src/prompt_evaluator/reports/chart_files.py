"""Charts as pictures, and the JavaScript that draws them in a page. Both need the extra `charts`."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.reports.chart_theme import theme_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model.chart import Chart, Theme

INSTALL = "pip install 'prompt-verdict[charts]'"
NO_CHARTS = f"Charts are drawn by vl-convert, which is not installed: {INSTALL}"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""Only named in specifications that are written to a file: editors recognise them by it."""
_PIXELS = 2.0
"""Of a PNG, for each one of the chart, so that it is sharp on most screens."""


def can_draw() -> bool:
    """Whether the extra is installed. Does not import it."""
    from importlib.util import find_spec  # noqa: PLC0415 - only charts need it

    return find_spec("vl_convert") is not None


def themed(chart: Chart, theme: Theme) -> dict[str, Any]:
    """The specification with the colours of a theme."""
    return {**chart.specification, "config": theme_config(theme)}


def svg(chart: Chart, theme: Theme = "light") -> str:
    """Raises ConfigurationError without the extra, as `png` and `javascript_bundle` do."""
    with _explained(chart):
        text: str = _vl_convert().vegalite_to_svg(themed(chart, theme))
    return text


def png(chart: Chart, theme: Theme = "light") -> bytes:
    with _explained(chart):
        picture: bytes = _vl_convert().vegalite_to_png(themed(chart, theme), scale=_PIXELS)
    return picture


def specification_file(chart: Chart, theme: Theme = "light") -> bytes:
    """The specification as a file that editors for Vega-Lite can open. Needs no extra."""
    whole = {"$schema": _SCHEMA, **themed(chart, theme)}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"


@cache
def bundle_version() -> str:
    """The version of the script that `javascript_bundle` returns. Does not import the extra."""
    from importlib.metadata import version  # noqa: PLC0415 - takes 20 ms

    return version("vl-convert-python")


def javascript_bundle(environment: Mapping[str, str] = os.environ) -> str:
    """vega, vega-lite and vega-embed as one script, which defines `vegaEmbed`.

    Making it takes seconds, so it is kept in the user's cache folder. Two processes may make it at once: each writes a
    file of its own and renames it, so that nobody reads half of one. A folder that cannot be written is no obstacle.
    """
    module = _vl_convert()
    kept = _cache_folder(environment) / f"vega-embed-{module.get_vega_embed_version()}-{module.__version__}.js"
    with suppress(OSError, UnicodeDecodeError):
        if (text := kept.read_text("utf-8")).endswith(_END):
            return text
    made: str = module.javascript_bundle() + _END
    with suppress(OSError):
        _keep(kept, made)
    return made


_END = "\n/* end of the bundle */\n"
"""A file without it was not written by `_keep`, or not as a whole."""


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
        try:
            file.write(text)
            file.close()
            Path(file.name).replace(path)
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise


def _cache_folder(environment: Mapping[str, str]) -> Path:
    """As the XDG base directory specification has it: relative paths are ignored."""
    given = environment.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path(environment.get("HOME") or Path.home()) / ".cache"
    return base / "prompt-evaluator"


@contextmanager
def _explained(chart: Chart) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        reason = " ".join(str(error).split("\n    at ")[0].split())
        raise ConfigurationError(f"The chart {chart.title!r} cannot be drawn: {reason}") from None


def _vl_convert() -> Any:
    try:
        import vl_convert  # noqa: PLC0415 - an extra, and 200 MB of memory once it draws
    except ImportError:
        raise ConfigurationError(f"{NO_CHARTS}.") from None
    return vl_convert
