"""Reply bodies: decompressed, without byte order mark, and with secrets masked."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.providers.transport.connection import Response

_BOM = b"\xef\xbb\xbf"
_COMPRESSED = ("gzip", "x-gzip", "deflate")
_GZIP_START = b"\x1f\x8b"
_GZIP_OR_ZLIB, _RAW = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS
_MAX_MEMBERS = 256
"""Each member copies the rest of the data, so many tiny ones would take minutes."""


class UnreadableContentError(Exception):
    """The body is not what it claims to be. The message completes "the reply …"."""


class OversizedContentError(Exception):
    """The decompressed body is larger than allowed."""


def plain(response: Response, max_bytes: int) -> bytes:
    """Return the decompressed body, with secrets that the service echoed masked.

    Raises:
        UnreadableContentError: It is not encoded as it claims, or the encoding is not supported.
        OversizedContentError: It has more than `max_bytes` bytes.
    """
    body = response.body
    if encoding := response.headers.get("content-encoding"):
        body = _decoded(body, REDACTOR.text(encoding).strip().lower(), max_bytes)
    return REDACTOR.bytes(body[3:] if body.startswith(_BOM) else body)


def readable(response: Response, max_bytes: int) -> bytes:
    """Like `plain`, but a body that cannot be decompressed is returned as it is: of an error, the status matters."""
    try:
        return plain(response, max_bytes)
    except (UnreadableContentError, OversizedContentError):
        return REDACTOR.bytes(response.body)


def _decoded(data: bytes, encoding: str, max_bytes: int) -> bytes:
    if encoding == "identity" or not data:
        return data
    try:
        return _decompressed(data, encoding, max_bytes)
    except UnreadableContentError:
        if data.lstrip()[:1] in (b"{", b"["):  # a gateway decompressed it and kept the header
            return data
        raise


def _decompressed(data: bytes, encoding: str, max_bytes: int) -> bytes:
    """Decompress. Services use `deflate` for zlib, as RFC 9110 says, and for raw deflate."""
    if encoding not in _COMPRESSED:
        raise UnreadableContentError(f"is encoded as {encoding[:40]!r}, which was not requested")
    formats = (_GZIP_OR_ZLIB, _RAW) if encoding == "deflate" else (_GZIP_OR_ZLIB,)
    for window in formats:
        try:
            return b"".join(_members(data, encoding, window, max_bytes))
        except zlib.error as error:
            problem = error
    raise UnreadableContentError(f"is not the {encoding} it claims to be: {problem}") from None


def _members(data: bytes, encoding: str, window: int, max_bytes: int) -> Iterator[bytes]:
    """Decompress member by member, up to the limit: a few kilobytes may expand to gigabytes."""
    size = len(data)
    for _ in range(_MAX_MEMBERS):
        decompressor = zlib.decompressobj(window)
        part = decompressor.decompress(data, max_bytes + 1)
        max_bytes -= len(part)
        if max_bytes < 0:
            raise OversizedContentError(f"{size:,} compressed bytes expand to more")
        if not decompressor.eof:
            raise UnreadableContentError(f"is truncated {encoding}")
        yield part
        data = decompressor.unused_data
        if not data.startswith(_GZIP_START):  # padding, or nothing
            return
    raise UnreadableContentError(f"is {encoding} in more than {_MAX_MEMBERS} parts")
