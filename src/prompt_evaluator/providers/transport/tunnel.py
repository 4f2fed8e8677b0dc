"""A way through a proxy to a service that speaks TLS: the CONNECT of HTTP."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from prompt_evaluator.providers.transport.address import sent_host
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    import socket

    from prompt_evaluator.providers.transport.proxy import Proxy

_LONGEST_HEAD = 64 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: ([^\r\n]*))?\r\n")
_OFFERED_LOGIN = re.compile(rb"\r\nProxy-Authenticate:[ \t]*([\w-]+)", re.IGNORECASE)


class ProxyFailedError(ConnectionError):
    """The proxy cannot be reached, hung up, or does not speak HTTP. Says which, as the end of a sentence about it."""


class ProxyRefusedError(Exception):
    """The proxy answered, and did not open the way."""

    def __init__(self, status: int, reason: str, logins: list[str]) -> None:
        """Take what it answered, and the kinds of login that it offers."""
        super().__init__(status, reason)
        self.status, self.reason, self.logins = status, reason, logins


async def open_tunnel(sock: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Have the proxy connect a socket to a host. From then on everything on it is between us and that host.

    Raises:
        ProxyRefusedError: It answered with another status than success.
        ProxyFailedError: It gave no answer that can be understood.
    """
    try:
        head = await _ask(sock, _request(proxy, f"{sent_host(host)}:{port}"))
    except ProxyFailedError:
        raise
    except OSError as error:
        raise ProxyFailedError(f"broke the connection off: {error}") from None
    line = _STATUS_LINE.match(head)
    if line is None:
        raise ProxyFailedError(f"does not speak HTTP; its answer starts {head[:60].decode(errors='replace')!r}")
    status = int(line[1])
    if not 200 <= status < 300:  # noqa: PLR2004 - any success opens the way (RFC 9110, 9.3.6)
        offered = [kind.decode() for kind in _OFFERED_LOGIN.findall(head)]
        raise ProxyRefusedError(status, (line[2] or b"").decode("latin-1").strip(), offered)
    if not head.endswith(b"\r\n\r\n"):
        raise ProxyFailedError("sent something before the service could have been asked")


def _request(proxy: Proxy, target: str) -> bytes:
    headers = {"Host": target, "User-Agent": f"prompt-evaluator/{__version__}", **proxy.headers}
    lines = [f"CONNECT {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode()


async def _ask(sock: socket.socket, request: bytes) -> bytes:
    """What comes back, up to the empty line at least."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, request)
    head = b""
    while b"\r\n\r\n" not in head:
        data = await loop.sock_recv(sock, 4096)
        if not data:
            raise ProxyFailedError("closed the connection without an answer" if not head else "broke its answer off")
        head += data
        if not head.startswith(b"HTTP/"[: len(head)]):
            break  # it need not be waited for
        if len(head) > _LONGEST_HEAD:
            raise ProxyFailedError(f"goes on for more than {_LONGEST_HEAD:,} bytes without an end of its answer")
    return head
