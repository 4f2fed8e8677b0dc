"""TLS settings: trusted authorities and client certificates, from files."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings

_CERTIFICATE = b"CERTIFICATE-----"
_KEY = b"PRIVATE KEY-----"


class TlsFiles(NamedTuple):
    """Paths of certificates. By default: the system's authorities and no client certificate."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, settings: ProviderSettings) -> Self:
        return cls(settings.ca_file, settings.cert_file, settings.key_file)


def make_context(files: TlsFiles) -> ssl.SSLContext:
    """Create the context for TLS connections.

    Raises:
        ValueError: A file cannot be used. The message names the setting and the file.
    """
    context = _trusting(files.ca)
    if files.cert is None:
        if files.key is not None:
            raise ValueError("key_file is set without cert_file. Set cert_file to the certificate of that key.")
        return context
    _check_pair(files.cert, files.key)
    try:
        context.load_cert_chain(files.cert, files.key, password=_refuse_passphrase)
    except ssl.SSLError as error:
        raise ValueError(_pair_problem(files, error)) from None
    return context


def _trusting(path: str | None) -> ssl.SSLContext:
    """A file replaces the authorities that the system trusts, as in other tools."""
    if path is not None:
        _check_has(_read("ca_file", path), _CERTIFICATE, f"ca_file {path}", "certificate")
    try:
        return ssl.create_default_context(cafile=path)
    except ssl.SSLError as error:
        raise ValueError(f"ca_file {path}: cannot read the certificates in it: {_reason(error)}.") from None


def _check_pair(cert: str, key: str | None) -> None:
    certificates = _read("cert_file", cert)
    _check_has(certificates, _CERTIFICATE, f"cert_file {cert}", "certificate")
    if key is None:
        if _KEY not in certificates:
            raise ValueError(f"cert_file {cert}: no private key in it. Set key_file to the file with the key.")
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
        raise ValueError(f"{setting} {path}: this is a folder. Write the path of a file.") from None
    except OSError as error:
        raise ValueError(f"{setting} {path}: cannot read the file: {error.strerror}.") from None
    except ValueError:  # it has a null character
        raise ValueError(f"{setting} {path!r}: this is not the path of a file. Correct the path.") from None


def _check_has(content: bytes, mark: bytes, where: str, what: str) -> None:
    """Check for a PEM block, which starts with a line such as `-----BEGIN CERTIFICATE-----`. DER is its binary form."""
    if mark not in content:
        advice = f"It must be PEM: text with the line -----BEGIN {what.upper()}-----."
        if content.startswith(b"\x30"):
            advice = "It looks like DER; `openssl x509 -inform der` or `openssl pkey -inform der` converts it to PEM."
        raise ValueError(f"{where}: no {what} in it. {advice}")


def _pair_problem(files: TlsFiles, error: ssl.SSLError) -> str:
    holder = f"key_file {files.key}" if files.key else f"the key in cert_file {files.cert}"
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{holder} does not belong to the certificate in {files.cert}. Use the key it was issued for."
    return f"cert_file {files.cert} and {holder} cannot be used: {_reason(error)}."


def _encrypted(where: str) -> str:
    return f"{where}: the key is protected by a passphrase. Remove the passphrase: `openssl pkey -in OLD -out NEW`."


def _refuse_passphrase() -> NoReturn:
    """Keeps OpenSSL from prompting at the terminal."""
    raise ValueError(_encrypted("key_file"))


def _reason(error: ssl.SSLError) -> str:
    """OpenSSL gives no reason for a block that is cut, or is not the Base64 of a certificate or key."""
    return error.reason.replace("_", " ").lower() if error.reason else "a block of PEM is damaged"
