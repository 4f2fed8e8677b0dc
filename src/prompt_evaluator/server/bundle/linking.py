"""Turns the addresses of a server's page into links between files.

Pages are made with the addresses of the server, in routes and templates alike, and changed here, in one place: so no
link can be forgotten, and one to a page that a bundle does not have becomes plain text. Values in a page are escaped,
so a text that looks like a link has no quotation mark in it and is left alone.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

from prompt_evaluator.server.bundle.scripts import with_needed

if TYPE_CHECKING:
    from prompt_evaluator.server.bundle.addresses import Addresses

_ATTRIBUTES = r'(?:[^>"]|"[^"]*")*?'
_ANCHOR = re.compile(rf'<a\b({_ATTRIBUTES}) href="(/[^"]*)"({_ATTRIBUTES})>(.*?)</a>', re.DOTALL)
_ADDRESS = re.compile(r' (href|src|action|data-href)="(/[^"]*)"')
_MODULE = re.compile(r'<script type="module" src="/assets/[^/"]+/([^"]+)"></script>\n?')
_ASSETS = "/assets/"


class Linker:
    """Changes pages, and notes which assets they use."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses
        self.assets: set[str] = set()
        """What pages load."""
        self.modules: set[str] = set()
        """Those of them that are modules on a server."""

    def linked(self, page: str, here: str) -> str:
        """A page, or a part of one, for the file `here`."""

        def anchor(found: re.Match[str]) -> str:
            before, address, after, content = found.groups()
            link = self._link(address, here)
            kept = "" if link is None else f' href="{link}"'
            tag = "span" if link is None else "a"
            return f"<{tag}{before}{kept}{after}>{content}</{tag}>"

        def attribute(found: re.Match[str]) -> str:
            link = self._link(found[2], here)
            return "" if link is None else f' {found[1]}="{link}"'

        return _ADDRESS.sub(attribute, _ANCHOR.sub(anchor, self._with_scripts(page)))

    def _link(self, address: str, here: str) -> str | None:
        if address.startswith(_ASSETS):
            self.assets.add(address.rpartition("/")[2])
        link = self._addresses.written(unescape(address), here)
        return None if link is None else escape(link)

    def _with_scripts(self, page: str) -> str:
        """The page with its modules as plain scripts, all at the place of the last one."""
        names = _MODULE.findall(page)
        if not names:
            return page
        needed = with_needed(names)
        self.modules |= {*needed}
        tags = "".join(f'<script defer src="{_ASSETS}-/{name}"></script>\n' for name in needed)
        return _MODULE.sub("", page).replace("</head>", f"{tags}</head>", 1)
