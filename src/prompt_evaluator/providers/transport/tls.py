"""Whom a provider trusts and how it proves who it is: certificates from files."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings

_CERTIFICATE = b"CERTIFICATE-----"
_KEY = b"PRIVATE KEY-----"


class TlsFiles(NamedTuple):
    """Where certificates are. None: what the system trusts, and no certificate of our own."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, settings: ProviderSettings) -> Self:
        return cls(settings.ca_file, settings.cert_file, settings.key_file)


def make_context(files: TlsFiles) -> ssl.SSLContext:
    """What secure connections are made with.

    Raises:
        ValueError: A file cannot be used: a sentence that names the setting and the file.
    """
    context = _trusting(files.ca)
    if files.cert is None:
        if files.key is not None:
            raise ValueError("key_file is set without cert_file. Name the certificate that the key belongs to.")
        return context
    _check_pair(files.cert, files.key)
    try:
        context.load_cert_chain(files.cert, files.key, password=_ask_nobody)
    except ssl.SSLError as error:
        raise ValueError(_pair_problem(files, error)) from None
    return context


def _trusting(path: str | None) -> ssl.SSLContext:
    """A file takes the place of what the system trusts, as it does in other tools."""
    if path is not None:
        _check_has(_read("ca_file", path), _CERTIFICATE, f"ca_file {path}", "certificate")
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise ValueError(f"ca_file {path}: a certificate in it cannot be read: {_reason(error)}.") from None


def _check_pair(cert: str, key: str | None) -> None:
    certificates = _read("cert_file", cert)
    _check_has(certificates, _CERTIFICATE, f"cert_file {cert}", "certificate")
    if key is None:
        if _KEY not in certificates:
            raise ValueError(f"cert_file {cert}: there is no private key in it. Name the file of the key in key_file.")
        where, held = f"cert_file {cert}", certificates
    else:
        where, held = f"key_file {key}", _read("key_file", key)
        _check_has(held, _KEY, where, "private key")
    if b"ENCRYPTED" in held:
        raise ValueError(_encrypted(where))


def _read(setting: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{setting} {path}: file not found. Correct the path.") from None
    except IsADirectoryError:
        raise ValueError(f"{setting} {path}: this is a folder. Name a file in it.") from None
    except OSError as error:
        raise ValueError(f"{setting} {path}: the file cannot be read: {error.strerror}.") from None


def _check_has(content: bytes, mark: bytes, where: str, what: str) -> None:
    """PEM is text with lines such as `-----BEGIN CERTIFICATE-----`; the same in binary is DER."""
    if mark not in content:
        advice = f"It has to be PEM: text with a line -----BEGIN {what.upper()}-----."
        if content.startswith(b"\x30"):
            advice = "It looks like DER; `openssl x509 -inform der` or `openssl pkey -inform der` writes it as PEM."
        raise ValueError(f"{where}: there is no {what} in it. {advice}")


def _pair_problem(files: TlsFiles, error: ssl.SSLError) -> str:
    holder = f"key_file {files.key}" if files.key else f"the key in cert_file {files.cert}"
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{holder} does not belong to the certificate in {files.cert}. Name the key it was issued for."
    return f"cert_file {files.cert} and {holder} cannot be used: {_reason(error)}."


def _encrypted(where: str) -> str:
    return f"{where}: the key is protected by a passphrase. Write it without one: `openssl pkey -in OLD -out NEW`."


def _ask_nobody() -> NoReturn:
    """OpenSSL asks at the terminal otherwise."""
    raise ValueError(_encrypted("key_file"))


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
