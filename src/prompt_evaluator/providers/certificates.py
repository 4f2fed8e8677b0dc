"""TLS settings from files: trusted authorities and client certificates."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

HELD = {"ca_file": "CERTIFICATE", "cert_file": "CERTIFICATE", "key_file": "PRIVATE KEY"}
"""The settings that name files, and what has to be in each."""


def make_context(files: Mapping[str, str]) -> ssl.SSLContext:
    """Create the context for TLS connections. Without a `ca_file`, the authorities that the system trusts are used.

    Args:
        files: Paths by setting.

    Raises:
        ValueError: A file cannot be used. The message names the setting and the file.
    """
    for setting, path in files.items():
        _check_has(HELD[setting], setting, path)
    cert, key = files.get("cert_file"), files.get("key_file")
    if key is not None and cert is None:
        raise ValueError("key_file is set without cert_file. Set cert_file to the certificate of that key.")
    try:
        context = ssl.create_default_context(cafile=files.get("ca_file"))
        if cert is not None:
            if key is None:
                _check_has("PRIVATE KEY", "cert_file", cert, " Set key_file to the file with the key.")
            context.load_cert_chain(cert, key, password=_refuse_passphrase)
    except ssl.SSLError as error:
        raise ValueError(f"{_named(files)} cannot be used: {_reason(error)}.") from None
    return context


def _check_has(what: str, setting: str, path: str, advice: str = "") -> None:
    """Check for a PEM block, which starts with a line such as `-----BEGIN CERTIFICATE-----`. DER is its binary form."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{setting} {path}: file not found. Correct the path.") from None
    except OSError as error:
        raise ValueError(f"{setting} {path}: cannot read the file: {error.strerror}.") from None
    except ValueError:  # it has a null character
        raise ValueError(f"{setting} {path!r}: this is not the path of a file. Correct the path.") from None
    if f"{what}-----".encode() in content:
        return
    advice = advice or f" It must be PEM: text with the line -----BEGIN {what}-----."
    if content.startswith(b"\x30"):
        advice = " It looks like DER; `openssl x509 -inform der` or `openssl pkey -inform der` converts it to PEM."
    raise ValueError(f"{setting} {path}: no {what.lower()} in it.{advice}")


def _refuse_passphrase() -> NoReturn:
    """Keeps OpenSSL from prompting at the terminal."""
    advice = "Remove the passphrase: `openssl pkey -in OLD -out NEW`."
    raise ValueError(f"the key of the client certificate is protected by a passphrase. {advice}")


def _named(files: Mapping[str, str]) -> str:
    return " and ".join(f"{setting} {path}" for setting, path in files.items())


def _reason(error: ssl.SSLError) -> str:
    """OpenSSL gives no reason for a block that is cut, or is not the Base64 of a certificate or key."""
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    return error.reason.replace("_", " ").lower() if error.reason else "a block of PEM is damaged"
