"""Makes the pages of the server's routes without a server, and writes them to files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.server.auth import Caller
from prompt_evaluator.server.bundle.linking import Linker
from prompt_evaluator.server.bundle.scripts import asset_bytes, plain_script
from prompt_evaluator.server.rendering import static_environment
from prompt_evaluator.server.routing import Call

if TYPE_CHECKING:
    from prompt_evaluator.server.bundle.addresses import Addresses
    from prompt_evaluator.server.bundle.folder import Folder
    from prompt_evaluator.server.routing import Page
    from prompt_evaluator.server.site import Site

READER = Caller("reader", "viewer")
"""May look at everything and change nothing, so that pages have no forms that change something."""


class StaticPages:
    """The pages of one bundle."""

    def __init__(self, site: Site, addresses: Addresses, folder: Folder) -> None:
        self.site, self.addresses, self._folder = site, addresses, folder
        self._templates = static_environment(addresses.has)
        self._linker = Linker(addresses)

    def call(self, query: Any, **path: str) -> Call[Any, None]:
        """A request as a route gets it."""
        return Call(site=self.site, caller=READER, path=path, query=query, body=None, headers={})

    def write(self, page: Page, here: str) -> None:
        """Write a page to a file."""
        self._folder.write(here, self.drawn(page.template, page.values, here).encode())

    def drawn(self, template: str, values: dict[str, Any], here: str) -> str:
        """A page, or a part of it, as it is written to the file `here`."""
        page = self._templates.get_template(template).render(values)
        return self._linker.linked(REDACTOR.text(page), here)

    def write_data(self, name: str, value: Any) -> None:
        """Write data to a script, because a page that is opened from disk may load scripts and nothing else."""
        text = REDACTOR.bytes(msgspec.json.encode(value))
        self._folder.write(name, b"bundleData(" + text + b");\n")

    def write_assets(self) -> None:
        """Write the styles and scripts that the pages use."""
        for name in sorted(self._linker.assets):
            is_module = name in self._linker.modules
            self._folder.write(f"assets/{name}", plain_script(name).encode() if is_module else asset_bytes(name))


def split_rows(rows: str) -> list[str]:
    """The rows of a table one by one."""
    return [f"<tr{row.rstrip()}" for row in rows.split("<tr")[1:]]
