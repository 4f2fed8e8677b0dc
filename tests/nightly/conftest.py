"""What takes longer than a change can wait for: `make nightly` runs it, with many trials."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "nightly" in item.path.parts:
            item.add_marker(pytest.mark.soak)
