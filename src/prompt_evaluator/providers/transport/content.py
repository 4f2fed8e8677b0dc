"""The body of a reply as it was before it was sent: without compression, byte order mark and secrets."""

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
_MOST_MEMBERS = 256
"""Each is a copy of all that follow, so that many tiny ones would take minutes."""


class UnreadableContentError(Exception):
    """It is not what it claims to be. Says so in the end of a sentence about the reply."""


class OversizedContentError(Exception):
    """It is larger than allowed when it is decompressed."""


def plain(response: Response, most: int) -> bytes:
    """The body, of at most so many bytes, in which secrets that the service repeats are masked.

    Raises:
        UnreadableContentError: It is not compressed as it claims, or in a way that nobody asked for.
        OversizedContentError: It has more bytes than that.
    """
    body = response.body
    if encoding := response.headers.get("content-encoding"):
        body = _decoded(body, REDACTOR.text(encoding).strip().lower(), most)
    return REDACTOR.bytes(body[3:] if body.startswith(_BOM) else body)


def _decoded(data: bytes, encoding: str, most: int) -> bytes:
    if encoding == "identity" or not data:
        return data
    try:
        return _decompressed(data, encoding, most)
    except UnreadableContentError:
        if data.lstrip()[:1] in (b"{", b"["):  # something on the way has decompressed it and left the header
            return data
        raise


def _decompressed(data: bytes, encoding: str, most: int) -> bytes:
    """Services mean two things by `deflate`: what RFC 9110 says, which is zlib, and what its name says."""
    if encoding not in _COMPRESSED:
        raise UnreadableContentError(f"is encoded as {encoding[:40]!r}, unasked")
    formats = (_GZIP_OR_ZLIB, _RAW) if encoding == "deflate" else (_GZIP_OR_ZLIB,)
    for window in formats:
        try:
            return b"".join(_members(data, encoding, window, most))
        except zlib.error as error:
            problem = error
    raise UnreadableContentError(f"is not the {encoding} it claims to be: {problem}") from None


def _members(data: bytes, encoding: str, window: int, most: int) -> Iterator[bytes]:
    """Decompress no further than allowed: a few kilobytes may stand for gigabytes."""
    size = len(data)
    for _ in range(_MOST_MEMBERS):
        machine = zlib.decompressobj(window)
        part = machine.decompress(data, most + 1)
        most -= len(part)
        if most < 0:
            raise OversizedContentError(f"{size:,} bytes decompress to more")
        if not machine.eof:
            raise UnreadableContentError(f"is {encoding} that was cut off")
        yield part
        data = machine.unused_data
        if not data.startswith(_GZIP_START):  # padding, or nothing
            return
    raise UnreadableContentError(f"is {encoding} in more than {_MOST_MEMBERS} parts")
