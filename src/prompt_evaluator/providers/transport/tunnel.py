"""Tunnels through a proxy to a TLS service (HTTP CONNECT)."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from prompt_evaluator.providers.transport.address import sent_host
from prompt_evaluator.providers.transport.dialling import reason
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    import socket

    from prompt_evaluator.providers.transport.proxy import Proxy

_MAX_HEAD = 64 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: ([^\r\n]*))?\r\n")
_OFFERED_LOGIN = re.compile(rb"\r\nProxy-Authenticate:[ \t]*([\w-]+)", re.IGNORECASE)


class ProxyFailedError(ConnectionError):
    """The proxy cannot be reached, hung up or does not speak HTTP. The message completes "the proxy …"."""


class ProxyRefusedError(Exception):
    """The proxy answered but did not open the tunnel."""

    def __init__(self, status: int, reason: str, logins: list[str]) -> None:
        """Create the error.

        Args:
            status: HTTP status of the proxy's reply.
            reason: Reason phrase of the reply; may be empty.
            logins: Authentication schemes that the proxy offers.
        """
        super().__init__(status, reason)
        self.status, self.reason, self.logins = status, reason, logins


async def open_tunnel(sock: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Ask the proxy to connect the socket to a host. After that, the socket talks to the host directly.

    Raises:
        ProxyRefusedError: The proxy answered with a status other than 2xx.
        ProxyFailedError: The proxy gave no usable answer.
    """
    try:
        head = await _ask(sock, _request(proxy, f"{sent_host(host)}:{port}"))
    except ProxyFailedError:
        raise
    except OSError as error:
        raise ProxyFailedError(f"broke the connection: {reason(error)}") from None
    line = _STATUS_LINE.match(head)
    if line is None:
        raise ProxyFailedError(f"does not speak HTTP; its answer starts with {head[:60].decode(errors='replace')!r}")
    status = int(line[1])
    if not 200 <= status < 300:  # noqa: PLR2004 - any 2xx opens the tunnel (RFC 9110, 9.3.6)
        offered = [kind.decode() for kind in _OFFERED_LOGIN.findall(head)]
        raise ProxyRefusedError(status, (line[2] or b"").decode("latin-1").strip(), offered)
    if not head.endswith(b"\r\n\r\n"):
        raise ProxyFailedError("sent data before the tunnel was used")


def _request(proxy: Proxy, target: str) -> bytes:
    headers = {"Host": target, "User-Agent": f"prompt-evaluator/{__version__}", **proxy.headers}
    lines = [f"CONNECT {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode()


async def _ask(sock: socket.socket, request: bytes) -> bytes:
    """Send the request and read the answer at least up to the empty line."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, request)
    head = b""
    while b"\r\n\r\n" not in head:
        data = await loop.sock_recv(sock, 4096)
        if not data:
            raise ProxyFailedError("sent an incomplete answer" if head else "closed the connection without answering")
        head += data
        if not head.startswith(b"HTTP/"[: len(head)]):
            break  # not HTTP: no need to wait for more
        if len(head) > _MAX_HEAD:
            raise ProxyFailedError(f"sent more than {_MAX_HEAD:,} bytes without ending its answer")
    return head
