"""On which line of the file a setting stands."""

from __future__ import annotations

from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OLD_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), " ")  # libyaml would count them as lines; nobody else does


class Lines:
    """Lines of a text that has been read as YAML before: whatever could go wrong with it has."""

    def __init__(self, text: str) -> None:
        self._root = yaml.compose(text.translate(_OLD_BREAKS), Loader=_Loader)

    def of(self, *keys: str) -> int | None:
        """The line of a key by the way to it, or of the innermost key on that way that is written out."""
        node, line = self._root, None
        for key in keys:
            if not isinstance(node, yaml.MappingNode):
                break
            found = next((pair for pair in node.value if pair[0].value == key), None)
            if found is None:
                break
            line, node = found[0].start_mark.line + 1, found[1]
        return line
