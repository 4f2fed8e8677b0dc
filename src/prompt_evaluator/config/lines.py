"""Finds the line of a setting in the file."""

from __future__ import annotations

from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OLD_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), " ")  # line breaks only to libyaml


class Lines:
    """Line numbers of a text that is known to be valid YAML."""

    def __init__(self, text: str) -> None:
        self._root = yaml.compose(text.translate(_OLD_BREAKS), Loader=_Loader)

    def of(self, *keys: str) -> int | None:
        """Return the line of a nested key, or of its innermost parent that is in the file."""
        node, line = self._root, None
        for key in keys:
            if not isinstance(node, yaml.MappingNode):
                break
            found = next((pair for pair in node.value if pair[0].value == key), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return line
