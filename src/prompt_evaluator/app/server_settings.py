"""The settings of the server, as typed values."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.token import Token

_DEFAULT_PORTS = {"http": 80, "https": 443}


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server listens, whom it answers, and how much one caller may ask for. None means no limit."""

    host: str
    port: int
    """0 means any free port."""
    allowed_hosts: tuple[str, ...]
    """Host names in lower case, besides those of loopback; one without a port allows all ports. Includes that of
    `public_url`."""
    public_url: str | None
    """Without a slash at the end."""
    runs_at_once: int
    resume: Literal["auto", "wait"]
    max_samples: int
    max_cases: int | None
    max_cost: float | None
    max_calls: int | None
    max_concurrency: int | None
    max_queued: int

    def within(self, token: Token | None) -> ServerSettings:
        """The same with the limits of a token, where they are stricter."""
        caps = {name: getattr(token, name) for name in ("max_samples", "max_cost", "max_concurrency")} if token else {}
        stricter = {
            name: cap
            for name, cap in caps.items()
            if cap is not None and ((own := getattr(self, name)) is None or cap < own)
        }
        return msgspec.structs.replace(self, **stricter)

    @property
    def tokens_needed(self) -> bool:
        """Whether a caller has to show a token: unless only this machine can reach the server."""
        return bool(self.allowed_hosts) or not is_loopback(self.host)


def server_settings(settings: Settings) -> ServerSettings:
    """The part of the settings that is about the server."""
    names = [field.name for field in msgspec.structs.fields(ServerSettings)]
    values = {name: settings.value(f"server.{name}") for name in names}
    public = (_host_of(values["public_url"]),) if values["public_url"] else ()
    values["allowed_hosts"] = tuple(dict.fromkeys((*(values["allowed_hosts"] or ()), *public)))
    return ServerSettings(**values)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address. Of names, only `localhost` is known to be one."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_of(url: str) -> str:
    """The host as browsers send it: without the scheme's own port."""
    parts = urlsplit(url)
    return parts.netloc.removesuffix(f":{_DEFAULT_PORTS[parts.scheme]}")
