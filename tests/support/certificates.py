"""An authority made for the tests, and what it signs."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import trustme

if TYPE_CHECKING:
    from pathlib import Path


class Authority:
    """Signs certificates for hosts and for clients. Files are written when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.ca, self._folder = trustme.CA(), folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def file(self) -> Path:
        path = self._folder / "ca.pem"
        self.ca.cert_pem.write_to_path(path)
        return path

    def server(self, *hosts: str, clients_of: Authority | None = None) -> ssl.SSLContext:
        """For a server of these names; with `clients_of`, one that wants a certificate of its clients."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.ca.issue_cert(*hosts).configure_cert(context)
        if clients_of is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            clients_of.ca.configure_trust(context)
        return context

    def client(self, name: str = "client.test") -> tuple[Path, Path]:
        """The files of a certificate and of its key."""
        issued = self.ca.issue_cert(name)
        cert, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        issued.cert_chain_pems[0].write_to_path(cert)
        issued.private_key_pem.write_to_path(key)
        return cert, key
