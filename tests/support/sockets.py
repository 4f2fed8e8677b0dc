"""Sockets at addresses of a test's choice."""

from __future__ import annotations

import socket


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def bound(host: str, port: int) -> socket.socket:
    sock = socket.socket(family_of(host))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock
