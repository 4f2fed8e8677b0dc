"""Certificates from files: whom a provider trusts, who it is, and what is said about files that are wrong."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls
from certificates import Authority
from cryptography.hazmat.primitives import serialization
from entries import each
from service import a_request, service

from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.errors import (
    ConfigurationError,
    ConnectionFailedError,
    HopelessError,
    InputError,
    UnreachableError,
)
from prompt_evaluator.model import ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HINT = "The service may require a client certificate: set cert_file and key_file."


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def other(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "other")


async def test_two_providers_trust_their_own_authorities(authority: Authority, other: Authority) -> None:
    async with service("openai", tls=authority.server("127.0.0.1"), ca_file=str(authority.file)) as svc:
        entry = ProviderSettings(kind="openai", base_url=svc.server.url, key_required=False, ca_file=str(other.file))
        stranger = svc.calls.open(entry, "stranger")
        await svc.ask()
        with pytest.raises(
            HopelessError, match=r"stranger: no secure connection: .*certificate verify failed.* set ca_file to its"
        ):
            await stranger.complete(a_request())

        assert (await svc.ask()).text == svc.server.answer
        assert len({id(request.reader) for request in svc.server.received}) == 1


@each("files", ["two", "one"])
async def test_a_service_that_wants_a_certificate_is_shown_ours(
    authority: Authority, other: Authority, files: str
) -> None:
    cert, key = other.client()
    if files == "one":
        cert.write_bytes(cert.read_bytes() + key.read_bytes())
    own = {"cert_file": str(cert), **({"key_file": str(key)} if files == "two" else {})}
    tls = authority.server("127.0.0.1", clients_of=other)
    async with service("openai", tls=tls, ca_file=str(authority.file), **own) as svc:
        assert (await svc.ask()).text == svc.server.answer


@contextmanager
def strict_server(context: ssl.SSLContext) -> Iterator[str]:
    """The address of a server that says why it ends a handshake, which asyncio's do not, and listens to the end."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                sock.settimeout(30)
                with sock.dup() as raw, context.wrap_socket(sock, True, False) as secure:  # noqa: FBT003
                    with suppress(ssl.SSLError):
                        secure.do_handshake()
                    raw.shutdown(socket.SHUT_WR)
                    while raw.recv(65_536):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)


@each("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_service_that_rejects_our_certificate_is_not_asked_again(
    authority: Authority, other: Authority, version: ssl.TLSVersion
) -> None:
    cert, key = authority.client()
    tls = authority.server("127.0.0.1", clients_of=other)
    tls.maximum_version = version
    own: dict[str, Any] = {"ca_file": str(authority.file), "cert_file": str(cert), "key_file": str(key)}
    with strict_server(tls) as address:
        async with service("openai", base_url=address, **own) as svc:
            with pytest.raises(HopelessError, match=f"no secure connection.*{HINT}") as caught:
                await svc.ask()

    assert caught.value.tries == 1


async def test_a_service_that_hangs_up_gets_a_hint_at_a_certificate_until_it_has_answered(
    authority: Authority, other: Authority
) -> None:
    tls = authority.server("127.0.0.1", clients_of=other)  # asyncio's servers do not say why
    async with service("openai", tls=tls, ca_file=str(authority.file)) as svc:
        with pytest.raises(ConnectionFailedError, match=HINT) as caught:
            await svc.ask()
    async with service("openai", tls=authority.server("127.0.0.1"), ca_file=str(authority.file)) as svc:
        await svc.ask()
        svc.server.script = ["reset before the reply"] * 2
        with pytest.raises(ConnectionFailedError) as later:
            await svc.ask()

    assert "Errno" not in str(caught.value)
    assert HINT not in str(later.value)


async def test_a_service_that_hangs_up_in_the_handshake_is_said_to() -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with service("openai", base_url=f"https://127.0.0.1:{port}") as svc:
            with pytest.raises(UnreachableError, match=f":{port}: it was closed during the TLS handshake"):
                await svc.ask()


# Files that are wrong.


def encrypted(key: Path) -> bytes:
    loaded = serialization.load_pem_private_key(key.read_bytes(), password=None)
    how = serialization.BestAvailableEncryption(b"a passphrase")
    return loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)


class Files:
    """A certificate with its key and its authority, and a place for what is wrong with them."""

    def __init__(self, authority: Authority, folder: Path) -> None:
        self.ca = authority.file
        self.cert, self.key = authority.client()
        self.other_key = authority.client("other.test")[1]
        self._folder = folder

    def write(self, content: bytes) -> str:
        path = self._folder / "file.pem"
        path.write_bytes(content)
        return str(path)


DAMAGED = b"-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n"
WRONG: dict[str, tuple[Callable[[Files], dict[str, Any]], str]] = {
    "no such file": (lambda files: {"ca_file": f"{files.ca}.old"}, r"ca_file /.*\.old: file not found"),
    "a null character": (lambda files: {"ca_file": f"{files.ca}\0"}, "this is not the path of a file"),
    "not PEM": (lambda files: {"ca_file": files.write(b"hello")}, r"no certificate in it\. It must be PEM"),
    "binary": (lambda files: {"ca_file": files.write(b"\x30\x82")}, "looks like DER"),
    "damaged": (lambda files: {"ca_file": files.write(DAMAGED)}, r"ca_file .*: a block of PEM is damaged\.$"),
    "no key": (lambda files: {"cert_file": str(files.cert)}, "Set key_file to the file with the key"),
    "a key without a certificate": (lambda files: {"key_file": str(files.key)}, "key_file is set without cert_file"),
    "certificate and key the wrong way round": (
        lambda files: {"cert_file": str(files.key), "key_file": str(files.cert)},
        "cert_file .*: no certificate in it",
    ),
    "the key of another certificate": (
        lambda files: {"cert_file": str(files.cert), "key_file": str(files.other_key)},
        "cert_file .* and key_file .*: the key does not belong to the certificate",
    ),
    "a key with a passphrase": (
        lambda files: {"cert_file": str(files.cert), "key_file": files.write(encrypted(files.key))},
        r"protected by a passphrase\. Remove the passphrase",
    ),
}


@each(("settings", "what"), WRONG.values(), ids=WRONG)
def test_a_file_that_cannot_be_used_is_refused_before_any_call(
    settings: Callable[[Files], dict[str, Any]], what: str, authority: Authority, tmp_path: Path
) -> None:
    entry = ProviderSettings(kind="openai", base_url="https://host.test", **settings(Files(authority, tmp_path)))

    with pytest.raises(ConfigurationError, match=what) as caught:
        Calls().open(entry)

    assert str(caught.value).startswith("svc: ")
    assert str(caught.value).endswith((".", "`."))


def certificates_of(tmp_path: Path, **fields: str) -> ProviderSettings:
    """The entry as it is read from a configuration file."""
    file = tmp_path / "prompt_evaluator.yaml"
    lines = "".join(f"    {name}: {value}\n" for name, value in {"kind": "openai", **fields}.items())
    file.write_text(f"providers:\n  openai:\n{lines}")
    return load_settings(file, {}, {}, tmp_path / "elsewhere").providers["openai"]


def test_paths_start_from_the_configuration_file_and_an_empty_one_counts_as_not_set(tmp_path: Path) -> None:
    settings = certificates_of(tmp_path, ca_file="certificates/ca.pem", cert_file="/etc/cert.pem", key_file="~/key.pem")
    empty = certificates_of(tmp_path, ca_file="''", cert_file="''", key_file="''", proxy="http://proxy:3128")

    assert settings.ca_file == str(tmp_path / "certificates/ca.pem")
    assert settings.cert_file == "/etc/cert.pem"
    assert settings.key_file == os.path.expanduser("~/key.pem")  # noqa: PTH111 - another way to the same
    assert (empty.ca_file, empty.cert_file, empty.key_file, empty.proxy) == (None, None, None, "http://proxy:3128")


def test_the_home_of_a_user_who_does_not_exist_is_refused_at_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"yaml:4: `providers.openai.ca_file` is in the home of an unknown user"):
        certificates_of(tmp_path, ca_file="~nobody-by-this-name/ca.pem")
