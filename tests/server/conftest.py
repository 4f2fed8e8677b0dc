"""One site for all tests of a module: making its runs takes longer than asking it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from asgi_site import AsgiSite, asgi_site

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AsgiSite]:
    """On loopback: nobody needs a token."""
    with asgi_site(tmp_path_factory.mktemp("site")) as made:
        yield made
