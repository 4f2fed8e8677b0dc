"""The JavaScript that draws charts in a page, which the extra `charts` contains."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_evaluator.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTALL = "pip install 'prompt-verdict[charts]'"


def can_draw() -> bool:
    """Whether the extra is installed. Does not import it."""
    from importlib.util import find_spec  # noqa: PLC0415 - only charts need it

    return find_spec("vl_convert") is not None


@cache
def bundle_version() -> str:
    """The version of the script that `javascript_bundle` returns. Does not import the extra."""
    from importlib.metadata import version  # noqa: PLC0415 - takes 20 ms

    return version("vl-convert-python")


def javascript_bundle(environment: Mapping[str, str] = os.environ) -> str:
    """vega, vega-lite and vega-embed as one script, which defines `vegaEmbed`.

    Raises ConfigurationError without the extra.

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


def _vl_convert() -> Any:
    try:
        import vl_convert  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigurationError(f"Charts are drawn by vl-convert, which is not installed: {INSTALL}.") from None
    return vl_convert
