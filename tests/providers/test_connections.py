"""HTTP of our own, against servers that send what they like when they like."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import struct
import tracemalloc
from contextlib import contextmanager, suppress
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pytest
from certificates import Authority
from sockets import bound, family_of

from prompt_evaluator.providers.transport.connection import BrokenOffError, NotHttpError, TooLargeError
from prompt_evaluator.providers.transport.connections import (
    Connections,
    Endpoint,
    NobodyThereError,
    NotConnectedError,
    TlsFailedError,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.providers.transport.connection import Response

    Script = Callable[["Peer"], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
HI = OK + b"Content-Length: 2\r\n\r\nhi"
BIG = 16 * 1024 * 1024
"""More than two sockets hold between them."""


class Peer:
    """One connection, as the server sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number, self.reader, self.writer = number, reader, writer

    @property
    def socket(self) -> socket.socket:
        found: socket.socket = self.writer.get_extra_info("socket")
        return found

    async def request(self) -> bytes:
        """The body of the next request."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        return await self.reader.readexactly(int(head.rpartition(b"Content-Length: ")[2]))

    async def write(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def trickle(self, raw: bytes) -> None:
        """Each byte arrives alone."""
        for position in range(len(raw)):
            await self.write(raw[position : position + 1])
            await turns(2)

    async def hung_up(self) -> None:
        """Wait until the client has closed the connection."""
        with suppress(ConnectionError):
            while await self.reader.read(65_536):
                pass

    def reset(self) -> None:
        """Close with an RST, as a crashed peer or a firewall does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Server:
    """Plays a script on every connection."""

    def __init__(
        self, script: Script, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self._script, self._host, self._port, self._tls = script, host, port, tls
        self._tasks: set[asyncio.Task[None] | None] = set()
        self.peers: list[Peer] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, self._port, ssl=self._tls, backlog=1024)
        self.place = Endpoint(self._host, self._server.sockets[0].getsockname()[1], self._tls is not None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await turns(5)  # takes whoever still knocks; asyncio loses them otherwise
        self._server.close()
        for task in self._tasks:
            if task is not None:
                task.cancel()
        await self.settled()

    @property
    def accepted(self) -> int:
        return len(self.peers)

    async def settled(self) -> None:
        """Wait until no connection is open."""
        async with asyncio.timeout(10):
            while self._tasks:  # noqa: ASYNC110 - no event for a bound
                await asyncio.sleep(0.001)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: asyncio.Task[None] | None = asyncio.current_task()
        self._tasks.add(task)
        peer = Peer(self.accepted, reader, writer)
        self.peers.append(peer)
        try:
            await self._script(peer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()
            self._tasks.discard(task)


def says(*replies: bytes, slowly: bool = False) -> Script:
    """One reply a request; the last one again and again. Only the client closes."""

    async def script(peer: Peer) -> None:
        for position in range(1_000_000):
            await peer.request()
            reply = replies[min(position, len(replies) - 1)]
            await (peer.trickle(reply) if slowly else peer.write(reply))

    return script


def says_and_ends(reply: bytes, *, slowly: bool = False) -> Script:
    async def script(peer: Peer) -> None:
        await peer.request()
        await (peer.trickle(reply) if slowly else peer.write(reply))
        peer.writer.close()
        await peer.writer.wait_closed()

    return script


def first(script: Script, then: Script) -> Script:
    """What the first connection gets, and what all others get."""

    async def both(peer: Peer) -> None:
        await (then if peer.number else script)(peer)

    return both


async def echoes(peer: Peer) -> None:
    while True:
        body = await peer.request()
        await peer.write(OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


async def says_nothing(peer: Peer) -> None:
    await peer.hung_up()


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def posted(body: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


async def ask(
    http: Connections, place: Endpoint, body: bytes = b"{}", *, most: int = 100_000, seconds: float = 30
) -> Response:
    return await http.send(place, posted(body), most=most, seconds=seconds)


def open_files() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - not a folder of files


@pytest.fixture(autouse=True)
async def _nothing_is_left_behind() -> AsyncIterator[None]:
    """No socket, no task, no timer, and nothing that asyncio complains about."""
    loop, before, complaints = asyncio.get_running_loop(), open_files(), list[dict[str, Any]]()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    gc.freeze()  # what was there before need not be looked through

    yield

    async with asyncio.timeout(10):
        while open_files() > before or len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - no event for a bound
            await asyncio.sleep(0.001)
    gc.collect()
    gc.unfreeze()
    assert not [timer for timer in vars(loop)["_scheduled"] if not timer.cancelled()]
    assert complaints == []


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def http(_nothing_is_left_behind: None, clock: Clock) -> AsyncIterator[Connections]:
    connections = Connections(clock)
    yield connections
    await connections.close()


# Connections are kept.


async def test_the_next_request_goes_over_the_same_connection(http: Connections) -> None:
    async with Server(echoes) as server:
        bodies = [(await ask(http, server.place, b"%d" % number)).body for number in range(3)]

        assert bodies == [b"0", b"1", b"2"]
        assert server.accepted == 1


async def test_requests_at_the_same_time_have_a_connection_each(http: Connections) -> None:
    async with Server(echoes) as server:
        for _ in range(2):
            responses = await asyncio.gather(*(ask(http, server.place, b"%d" % number) for number in range(5)))

            assert [response.body for response in responses] == [b"0", b"1", b"2", b"3", b"4"]
        assert server.accepted == 5


async def test_an_old_reply_that_asks_to_be_kept_is_kept(http: Connections) -> None:
    old = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"
    async with Server(says(old)) as server:
        await ask(http, server.place)
        await ask(http, server.place)

        assert server.accepted == 1


LAST_REPLIES = {
    "connection: close": OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi",
    "keep-alive, close": OK + b"Connection: keep-alive, close\r\nContent-Length: 2\r\n\r\nhi",
    "http 1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "another reply": HI + OK + b"Content-Length: 4\r\n\r\nevil",
    "the start of another reply": HI + b"H",
    "a hint of another reply": HI + b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "something else": HI + b"!",
    "something else after a close": OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi" + b"!",
    "a longer body than announced": HI + b" there",
    "after the last chunk": CHUNKED + b"2\r\nhi\r\n0\r\n\r\n1\r\n!\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("raw", LAST_REPLIES.values(), ids=list(LAST_REPLIES))
async def test_a_connection_is_closed_after_a_reply_that_was_its_last(http: Connections, raw: bytes) -> None:
    async with Server(first(says(raw), echoes)) as server:
        response = await ask(http, server.place)
        await server.settled()
        following = await ask(http, server.place, b"mine")

        assert response.body == b"hi"
        assert following.body == b"mine"
        assert server.accepted == 2


async def test_a_line_break_after_a_reply_is_harmless(http: Connections) -> None:
    async with Server(says(HI + b"\r\n")) as server:
        assert [(await ask(http, server.place)).body for _ in range(3)] == [b"hi"] * 3


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_a_server_that_ends_an_idle_connection_costs_the_next_call_nothing(
    http: Connections, *, reset: bool
) -> None:
    async def ends(peer: Peer) -> None:
        await peer.request()
        await peer.write(HI)
        if reset:
            peer.reset()

    async with Server(first(ends, echoes)) as server:
        await ask(http, server.place)
        await server.settled()
        await turns(3)

        assert (await ask(http, server.place, b"mine")).body == b"mine"


async def test_an_end_that_the_loop_has_not_seen_yet_costs_the_next_call_nothing(http: Connections) -> None:
    async with Server(echoes) as server:
        await ask(http, server.place)
        server.peers[0].socket.shutdown(socket.SHUT_WR)

        assert (await ask(http, server.place, b"mine")).body == b"mine"
        assert server.accepted == 2


@pytest.mark.parametrize("seen", [False, True], ids=["not seen by the loop yet", "seen by the loop"])
async def test_an_unsolicited_reply_is_dropped(http: Connections, *, seen: bool) -> None:
    async with Server(echoes) as server:
        await ask(http, server.place)
        os.write(server.peers[0].socket.fileno(), HI)
        if seen:
            await server.settled()

        assert (await ask(http, server.place, b"mine")).body == b"mine"
        assert server.accepted == 2


async def test_a_connection_that_was_idle_for_long_is_closed_and_not_used(http: Connections, clock: Clock) -> None:
    async with Server(echoes) as server:
        await ask(http, server.place)
        clock.now += 14
        await ask(http, server.place)
        assert server.accepted == 1

        clock.now += 16
        await ask(http, server.place)
        assert server.accepted == 2

        await http.close()
        await server.settled()


async def test_closing_lets_go_of_every_idle_connection(http: Connections) -> None:
    async with Server(echoes) as server, Server(echoes) as other:
        await asyncio.gather(*(ask(http, place) for place in (server.place, other.place) for _ in range(5)))
        await http.close()

        await server.settled()
        await other.settled()


# Replies, whole and broken.


class Whole(NamedTuple):
    raw: bytes
    status: int = 200
    body: bytes = b"hi"


WHOLE_REPLIES = {
    "a length": Whole(HI),
    "a length of nothing": Whole(OK + b"Content-Length: 0\r\n\r\n", body=b""),
    "blanks around a length": Whole(OK + b"Content-Length: \t 2 \t \r\n\r\nhi"),
    "chunks": Whole(CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"),
    "chunks of a size with zeros and capitals": Whole(CHUNKED + b"000A\r\n0123456789\r\n0\r\n\r\n", body=b"0123456789"),
    "chunks with extensions": Whole(CHUNKED + b'2;a;b=c;d="e;f"\r\nhi\r\n0;last\r\n\r\n'),
    "chunks with trailers": Whole(CHUNKED + b"2\r\nhi\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"),
    "no chunk": Whole(CHUNKED + b"0\r\n\r\n", body=b""),
    "chunked said twice": Whole(OK + b"Transfer-Encoding: chunked\r\n" + CHUNKED[len(OK) :] + b"2\r\nhi\r\n0\r\n\r\n"),
    "100 before it": Whole(b"HTTP/1.1 100 Continue\r\n\r\n" + HI),
    "100 and two 103 before it": Whole(
        b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nX: 1\r\n\r\n" * 2 + HI
    ),
    "204": Whole(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "204 with a length": Whole(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, b""),
    "304 with a length": Whole(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, b""),
    "599": Whole(b"HTTP/1.1 599 What\r\nContent-Length: 2\r\n\r\nhi", 599),
    "no reason": Whole(b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi"),
    "an offer to upgrade": Whole(OK + b"Upgrade: h2,h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nhi"),
    "line breaks before it": Whole(b"\r\n\r\n" + HI),
    "letters beyond ASCII": Whole("HTTP/1.1 200 Schön\r\nX: é\r\nContent-Length: 2\r\n\r\nhi".encode()),
}


@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("reply", WHOLE_REPLIES.values(), ids=list(WHOLE_REPLIES))
async def test_a_whole_reply_is_read_and_the_connection_kept(http: Connections, reply: Whole, *, slowly: bool) -> None:
    async with Server(says(reply.raw, slowly=slowly)) as server:
        for _ in range(2):
            response = await ask(http, server.place)

            assert (response.status, response.body) == (reply.status, reply.body)
        assert server.accepted == 1


@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(
    "head", [OK, b"HTTP/1.0 200 OK\r\n", OK + b"Connection: close\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" + OK]
)
async def test_a_body_without_a_length_ends_with_the_connection(
    http: Connections, head: bytes, *, slowly: bool
) -> None:
    async with Server(says_and_ends(head + b"\r\nhi", slowly=slowly)) as server:
        for _ in range(2):
            assert (await ask(http, server.place)).body == b"hi"


SWITCHES = {
    "101": b"HTTP/1.1 101 Switching\r\n\r\n",
    "101 to a web socket": b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x02hi",
    "099": b"HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\nhi",
}


@pytest.mark.parametrize("raw", SWITCHES.values(), ids=list(SWITCHES))
async def test_a_status_that_leads_out_of_http_is_a_reply_and_the_end_of_the_connection(
    http: Connections, raw: bytes
) -> None:
    async with Server(first(says(raw), echoes)) as server:
        response = await ask(http, server.place)
        await server.settled()

        assert response.status in (99, 101)
        assert (await ask(http, server.place, b"mine")).body == b"mine"


BROKEN_REPLIES = {
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
    "two different lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
    "a list of lengths": OK + b"Content-Length: 2, 2\r\n\r\nhi",
    "a length, then chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "chunks, then a length": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "a negative length": OK + b"Content-Length: -2\r\n\r\nhi",
    "a signed length": OK + b"Content-Length: +2\r\n\r\nhi",
    "a length beyond 64 bits": OK + b"Content-Length: 18446744073709551618\r\n\r\nhi",
    "a length of 10,000 digits": OK + b"Content-Length: " + b"9" * 10_000 + b"\r\n\r\nhi",
    "a length in words": OK + b"Content-Length: two\r\n\r\nhi",
    "a length in hexadecimal": OK + b"Content-Length: 0x2\r\n\r\nhi",
    "a length in two parts": OK + b"Content-Length: 1 2\r\n\r\nhi",
    "a superscript length": OK + b"Content-Length: \xb2\r\n\r\nhi",
    "an empty length": OK + b"Content-Length: \r\n\r\nhi",
    "a folded header": OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi",
    "line feeds only": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "a carriage return in a header": OK + b"X: a\rY: b\r\nContent-Length: 2\r\n\r\nhi",
    "NUL in a value": OK + b"X: a\0b\r\nContent-Length: 2\r\n\r\nhi",
    "NUL in a name": OK + b"X\0: a\r\nContent-Length: 2\r\n\r\nhi",
    "a blank before the colon": OK + b"Content-Length : 2\r\n\r\nhi",
    "no colon": OK + b"Content-Length\r\n\r\nhi",
    "status 99": b"HTTP/1.1 99 What\r\nContent-Length: 2\r\n\r\nhi",
    "status 1000": b"HTTP/1.1 1000 What\r\nContent-Length: 2\r\n\r\nhi",
    "a status in words": b"HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\nhi",
    "http 1.2": b"HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    "http 0.9": b"<html>hi</html>\r\n\r\n",
    "ssh": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "an alert of tls": b"\x15\x03\x01\x00\x02\x02\x46",
    "a request": posted(b"hi"),
    "no size of a chunk": CHUNKED + b"\r\nhi\r\n0\r\n\r\n",
    "a size that is no number": CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n",
    "a negative size": CHUNKED + b"-2\r\nhi\r\n0\r\n\r\n",
    "a size beyond 64 bits": CHUNKED + b"1" + b"0" * 16 + b"\r\nhi\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"2\r\nhi!\r\n0\r\n\r\n",
    "chunks with line feeds only": CHUNKED + b"2\nhi\n0\n\n",
}


@pytest.mark.parametrize("slowly", [False, True], ids=["at once", "byte by byte"])
@pytest.mark.parametrize("raw", BROKEN_REPLIES.values(), ids=list(BROKEN_REPLIES))
async def test_a_reply_that_is_not_http_fails_at_once_and_closes_the_connection(
    http: Connections, raw: bytes, *, slowly: bool
) -> None:
    slowly = slowly and len(raw) < 1_000
    async with Server(first(says(raw, slowly=slowly), echoes)) as server:
        with pytest.raises(NotHttpError):
            await ask(http, server.place)
        await server.settled()

        assert (await ask(http, server.place, b"mine")).body == b"mine"


CUT_REPLIES = {
    "before it began": b"",
    "in the status": OK[:-5],
    "in the headers": OK + b"Content-Le",
    "before the body": OK + b"Content-Length: 2\r\n\r\n",
    "in the body": OK + b"Content-Length: 3\r\n\r\nhi",
    "in the size of a chunk": CHUNKED + b"2",
    "in a chunk": CHUNKED + b"3\r\nhi",
    "between chunks": CHUNKED + b"2\r\nhi\r\n",
    "before the last line": CHUNKED + b"2\r\nhi\r\n0\r\n",
    "in the trailers": CHUNKED + b"2\r\nhi\r\n0\r\nX: 1\r\n",
    "after a hint": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "after a hint with a length": b"HTTP/1.1 103 Early Hints\r\nContent-Length: 2\r\n\r\n",
    "in a coding we do not know": OK + b"Transfer-Encoding: gzip\r\n\r\nhi",
}


@pytest.mark.parametrize("raw", CUT_REPLIES.values(), ids=list(CUT_REPLIES))
async def test_a_connection_that_ends_within_the_reply_is_not_an_answer(http: Connections, raw: bytes) -> None:
    async with Server(first(says_and_ends(raw), echoes)) as server:
        with pytest.raises(BrokenOffError):
            await ask(http, server.place)

        assert (await ask(http, server.place, b"mine")).body == b"mine"


RESET_REPLIES = {**CUT_REPLIES, "in a body without a length": OK + b"\r\nhi"}


@pytest.mark.parametrize("raw", RESET_REPLIES.values(), ids=list(RESET_REPLIES))
async def test_a_reset_is_not_an_answer(http: Connections, raw: bytes) -> None:
    async def breaks(peer: Peer) -> None:
        await peer.request()
        await peer.write(raw)
        await turns(5)
        peer.reset()

    async with Server(first(breaks, echoes)) as server:
        with pytest.raises(ConnectionError):
            await ask(http, server.place)

        assert (await ask(http, server.place, b"mine")).body == b"mine"


async def test_headers_are_found_by_their_names_in_lower_case(http: Connections) -> None:
    raw = OK + b"X-One: a\r\nX-TWO: \t b c \t\r\nX-one: d\r\nX-None:\r\nX-L: \xe9\r\nContent-Length: 2\r\n\r\nhi"
    async with Server(says(raw)) as server:
        response = await ask(http, server.place)

        assert response.headers == {"x-one": "d", "x-two": "b c", "x-none": "", "x-l": "é", "content-length": "2"}


async def test_a_hint_leaves_nothing_in_the_headers_of_the_reply(http: Connections) -> None:
    async with Server(says(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\n\r\n" + HI)) as server:
        assert (await ask(http, server.place)).headers == {"content-length": "2"}


async def test_trailers_do_not_change_the_headers(http: Connections) -> None:
    raw = CHUNKED + b"2\r\nhi\r\n0\r\nTransfer-Encoding: gzip\r\nContent-Encoding: gzip\r\nRetry-After: 99\r\n\r\n"
    async with Server(says(raw)) as server:
        assert (await ask(http, server.place)).headers == {"transfer-encoding": "chunked"}


async def test_a_reply_that_is_damaged_anywhere_is_an_answer_or_a_known_error(http: Connections) -> None:
    random = Random(7)
    whole = [reply.raw for reply in WHOLE_REPLIES.values()]

    async def damaged(peer: Peer) -> None:
        await peer.request()
        raw = bytearray(random.choice(whole))
        for _ in range(random.randint(1, 4)):
            position = random.randrange(len(raw))
            raw[position : position + random.choice((0, 1, 1, 5))] = random.choice(
                (b"", b"\r\n", b"\0", b"\n", b"9", b":", b"\xff", bytes(raw[:position]))
            )
        middle = random.randrange(len(raw) + 1)
        await peer.write(bytes(raw[:middle]))
        await turns(random.randrange(4))
        await peer.write(bytes(raw[middle:]))

    async with Server(damaged) as server:
        for _ in range(500):
            with suppress(BrokenOffError, ConnectionError, NotHttpError, TooLargeError):
                await ask(http, server.place)


# Requests.


async def test_a_large_request_arrives_whole(http: Connections) -> None:
    body = os.urandom(1024) * (BIG // 1024)
    async with Server(echoes) as server:
        response = await ask(http, server.place, body, most=BIG)

        assert response.body == body
        assert (await ask(http, server.place)).body == b"{}"
        assert server.accepted == 1


async def shuts_down(peer: Peer) -> None:
    peer.socket.shutdown(socket.SHUT_WR)
    await peer.hung_up()


async def resets(peer: Peer) -> None:
    peer.reset()


EARLY_ENDS: dict[str, Script] = {"stays open": Peer.hung_up, "is shut down": shuts_down, "is reset": resets}


@pytest.mark.parametrize("end", EARLY_ENDS.values(), ids=list(EARLY_ENDS))
async def test_a_reply_that_does_not_wait_for_the_request_is_the_answer(http: Connections, end: Script) -> None:
    async def refuses(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.05)  # both sockets fill up
        await peer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await end(peer)

    async with Server(first(refuses, echoes)) as server:
        response = await ask(http, server.place, b"x" * BIG)
        await server.settled()

        assert (response.status, response.body) == (413, b"no")
        assert (await ask(http, server.place, b"mine")).body == b"mine"


def stops_listening(raw: bytes) -> Script:
    """Answers, shuts its half of the connection down, and never reads the rest of the request."""

    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.write(raw)
        peer.socket.shutdown(socket.SHUT_WR)
        await asyncio.sleep(60)

    return script


async def test_a_reply_that_does_not_wait_for_the_request_may_end_with_its_half_of_the_connection(
    http: Connections,
) -> None:
    async with Server(stops_listening(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\nno")) as server:
        response = await ask(http, server.place, b"x" * BIG)

        assert (response.status, response.body) == (413, b"no")


async def test_half_a_connection_that_ends_without_a_reply_is_the_end_of_both(http: Connections) -> None:
    async with Server(stops_listening(b"")) as server:
        with pytest.raises(BrokenOffError):
            await ask(http, server.place, b"x" * BIG)


# Limits.


SIZED: dict[str, Callable[[bytes], Script]] = {
    "announced": lambda body: says(OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)),
    "in a chunk": lambda body: says(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)),
    "in many chunks": lambda body: says(CHUNKED + b"1\r\n.\r\n" * len(body) + b"0\r\n\r\n"),
    "up to the end": lambda body: says_and_ends(OK + b"\r\n" + body),
}


@pytest.mark.parametrize("sized", SIZED.values(), ids=list(SIZED))
async def test_a_reply_may_be_as_large_as_allowed_and_no_larger(
    http: Connections, sized: Callable[[bytes], Script]
) -> None:
    async with Server(sized(b"." * 5_000)) as server:
        assert (await ask(http, server.place, most=5_000)).body == b"." * 5_000
        with pytest.raises(TooLargeError):
            await ask(http, server.place, most=4_999)
        await http.close()
        await server.settled()


async def test_an_announcement_is_enough_to_be_too_large(http: Connections) -> None:
    async with Server(says(OK + b"Content-Length: 18446744073709551615\r\n\r\n")) as server:
        with pytest.raises(TooLargeError, match="its Content-Length is 18,446,744,073,709,551,615"):
            await ask(http, server.place)
        await server.settled()


ENDLESS = {
    "status": (b"HTTP/1.1 200 ", b"O" * 1_000),
    "header": (OK + b"X: ", b"x" * 1_000),
    "name of a header": (OK, b"X" * 1_000),
    "headers": (OK, b"X: y\r\n" * 200),
    "different headers": (OK, b"".join(b"X-%d: y\r\n" % number for number in range(200))),
    "extension of a chunk": (CHUNKED + b"2;", b"x" * 1_000),
    "trailer": (CHUNKED + b"2\r\nhi\r\n0\r\nX: ", b"x" * 1_000),
    "trailers": (CHUNKED + b"2\r\nhi\r\n0\r\n", b"X: y\r\n" * 200),
}


@pytest.mark.parametrize(("start", "more"), ENDLESS.values(), ids=list(ENDLESS))
async def test_a_reply_that_never_ends_is_not_http(http: Connections, start: bytes, more: bytes) -> None:
    async def goes_on(peer: Peer) -> None:
        await peer.request()
        await peer.write(start)
        while True:
            await peer.write(more)
            await turns(1)

    async with Server(goes_on) as server:
        with pytest.raises(NotHttpError):
            await ask(http, server.place)
        await server.settled()


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Memory in use at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


async def test_a_body_that_never_ends_is_not_kept(http: Connections) -> None:
    async def goes_on(peer: Peer) -> None:
        await peer.request()
        await peer.write(CHUNKED)
        while True:
            await peer.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")

    async with Server(goes_on) as server:
        with at_most(8_000_000), pytest.raises(TooLargeError):
            await ask(http, server.place, most=2_000_000)
        await server.settled()


async def test_a_body_in_tiny_chunks_takes_no_more_memory_than_another(http: Connections) -> None:
    async def crumbles(peer: Peer) -> None:
        await peer.request()
        await peer.write(CHUNKED)
        for _ in range(100):
            await peer.write(b"2\r\nhi\r\n" * 1_000)
        await peer.write(b"0\r\n\r\n")

    async with Server(crumbles) as server:
        with at_most(2_000_000):
            response = await ask(http, server.place, most=200_000)

        assert len(response.body) == 200_000


# Time.


@contextmanager
def silent(host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """A port whose queue of new connections is full: it neither takes nor refuses one."""
    fillers = [socket.socket(family_of(host)) for _ in range(4)]
    with bound(host, port) as listener:
        listener.listen(0)
        for filler in fillers:
            filler.settimeout(0)
            filler.connect_ex(listener.getsockname())
        try:
            yield listener.getsockname()[1]
        finally:
            for filler in fillers:
                filler.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_a_connection_that_is_not_taken_runs_out_of_time(http: Connections, *, tls: bool) -> None:
    with silent() as port, pytest.raises(NotConnectedError):
        await ask(http, Endpoint("127.0.0.1", port, tls), seconds=0.05)


async def test_a_handshake_without_an_answer_runs_out_of_time(http: Connections) -> None:
    async with Server(says_nothing) as server:
        with pytest.raises(NotConnectedError):
            await ask(http, server.place._replace(tls=True), seconds=0.1)
        await server.settled()


@pytest.mark.parametrize("raw", CUT_REPLIES.values(), ids=list(CUT_REPLIES))
async def test_a_reply_that_stops_runs_out_of_time_and_the_connection_is_closed(http: Connections, raw: bytes) -> None:
    async with Server(first(says(raw), echoes)) as server:
        with pytest.raises(TimeoutError):
            await ask(http, server.place, seconds=0.5)
        await server.settled()

        assert (await ask(http, server.place, b"mine")).body == b"mine"


@pytest.mark.parametrize(
    ("start", "more"),
    [(b"", b"\r\n"), (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), (OK + b"\r\n", b" ")],
    ids=["line breaks", "hints", "blanks"],
)
async def test_a_server_that_keeps_us_waiting_does_not_win_time(http: Connections, start: bytes, more: bytes) -> None:
    async def trickles(peer: Peer) -> None:
        await peer.request()
        await peer.write(start)
        while True:
            await peer.write(more)
            await asyncio.sleep(0.01)

    async with Server(trickles) as server:
        with pytest.raises(TimeoutError):
            await ask(http, server.place, seconds=0.1)
        await server.settled()


@pytest.mark.parametrize("seconds", [0, -1])
async def test_without_time_there_is_no_reply(http: Connections, seconds: float) -> None:
    async with Server(says_nothing) as server:
        with pytest.raises(NotConnectedError):
            await ask(http, server.place, seconds=seconds)


async def test_a_reply_that_comes_too_late_is_dropped(http: Connections) -> None:
    late = asyncio.Event()

    async def replies_late(peer: Peer) -> None:
        await peer.request()
        await late.wait()
        await peer.write(OK + b"Content-Length: 4\r\n\r\nlate")

    async with Server(first(replies_late, echoes)) as server:
        with pytest.raises(TimeoutError):
            await ask(http, server.place, seconds=0.02)
        late.set()

        for number in range(3):
            assert (await ask(http, server.place, b"%d" % number)).body == b"%d" % number


# Cancellation.


async def cancelled_at_every_turn(http: Connections, server: Server, *, kept: bool) -> int:
    """Cancel a call after 0, 1, 2… turns of the loop until one is faster; the number of those that were not."""
    for count in range(500):
        if kept:
            await ask(http, server.place)
        else:
            await http.close()
        call = asyncio.create_task(ask(http, server.place))
        await turns(count)
        if call.done():
            assert call.result().body == b"{}"
            return count
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await http.close()
        await server.settled()
    raise AssertionError("no call was ever done")


@pytest.mark.parametrize("kept", [False, True], ids=["a new connection", "a kept connection"])
async def test_a_call_that_is_cancelled_at_any_moment_leaves_nothing_open(http: Connections, *, kept: bool) -> None:
    async with Server(echoes) as server:
        before = open_files()

        assert await cancelled_at_every_turn(http, server, kept=kept) > 2
        await http.close()
        await server.settled()
        assert open_files() == before
        assert (await ask(http, server.place, b"mine")).body == b"mine"


async def test_a_connection_that_is_reset_at_any_moment_is_a_failed_connection(http: Connections) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        for count in range(10):
            call = asyncio.create_task(ask(http, Endpoint("127.0.0.1", listener.getsockname()[1], tls=False)))
            while True:
                await turns(1)
                with suppress(BlockingIOError):
                    taken, _ = listener.accept()
                    break
            await turns(count)
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            taken.close()

            with pytest.raises(ConnectionError):
                await call


def moods(body: bytes) -> list[list[bytes]]:
    """What a server may answer: the parts that it sends. It stays only if the last one is the wish to stay."""
    length, stay = b"Content-Length: %d\r\n\r\n" % len(body), b""
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    return [
        [],
        [OK + b"Content-Length: 1000\r\n\r\n" + body],
        [OK + b"\r\n" + body],
        [OK + b"Connection: close\r\n" + length + body, stay],
        [OK + length + body + OK + length + body, stay],
        [b"HTTP/1.1 103 Early Hints\r\n\r\n" + OK, length, body, stay],
        [*(CHUNKED + chunks + b"0\r\n\r\n").partition(b"\r\n1"), stay],
        *[[OK + length + body, stay]] * 5,
    ]


async def moody(peer: Peer) -> None:
    stays = True
    while stays:
        body = await peer.request()
        random = Random(int(body))
        parts = random.choice(moods(body))
        for part in parts:
            await asyncio.sleep(random.choice((0, 0, 0.001, 0.003)))
            await peer.write(part)
        stays = parts[-1:] == [b""]
    if random.randrange(2):
        peer.reset()
    else:
        peer.writer.close()
        await peer.writer.wait_closed()


async def test_calls_that_are_cancelled_or_fail_never_mix_up_the_answers_of_others(http: Connections) -> None:
    async def client(number: int, place: Endpoint) -> int:
        random, answered = Random(number), 0
        for call in range(15):
            body = b"%d" % (number * 1_000 + call)
            task = asyncio.create_task(ask(http, place, body, seconds=random.choice((0.002, 30, 30, 30))))
            if random.randrange(4) == 0:
                await turns(random.randrange(20))
                task.cancel()
            with suppress(OSError, asyncio.CancelledError):
                assert (await task).body == body
                answered += 1
        return answered

    async with Server(moody) as server:
        answered = await asyncio.gather(*(client(number, server.place) for number in range(200)))
        await http.close()
        await server.settled()

    assert sum(answered) > 1_000


# TLS.


class Certificates(NamedTuple):
    authority: Path
    right: ssl.SSLContext
    """For 127.0.0.1 and both.test."""
    wrong: ssl.SSLContext
    """For another host, by the same authority."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    return Certificates(authority.file, authority.server("127.0.0.1", "both.test"), authority.server("elsewhere.test"))


@pytest.fixture
def trusted(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    return certificates


async def test_a_certificate_of_a_trusted_authority_is_accepted_and_the_connection_kept(
    http: Connections, trusted: Certificates
) -> None:
    async with Server(echoes, tls=trusted.right) as server:
        bodies = [(await ask(http, server.place, b"%d" % number)).body for number in range(3)]

        assert bodies == [b"0", b"1", b"2"]
        assert server.accepted == 1


async def test_a_certificate_of_an_unknown_authority_is_refused(http: Connections, certificates: Certificates) -> None:
    async with Server(echoes, tls=certificates.right) as server:
        with pytest.raises(TlsFailedError, match="certificate verify failed"):
            await ask(http, server.place)

        assert server.accepted == 0


async def test_a_certificate_of_another_host_is_refused(http: Connections, trusted: Certificates) -> None:
    async with Server(echoes, tls=trusted.wrong) as server:
        with pytest.raises(TlsFailedError, match="IP address mismatch"):
            await ask(http, server.place)

        assert server.accepted == 0


async def test_a_server_without_tls_is_refused(http: Connections) -> None:
    async def answers_at_once(peer: Peer) -> None:
        await peer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await peer.hung_up()

    async with Server(answers_at_once) as server:
        with pytest.raises(TlsFailedError):
            await ask(http, server.place._replace(tls=True))
        await server.settled()


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("raw", [b"", b"\x16\x03\x03", b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03"])
async def test_a_handshake_that_is_broken_off_is_a_failed_connection(
    http: Connections, raw: bytes, *, reset: bool
) -> None:
    async def breaks_off(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.write(raw)
        if reset:
            peer.reset()
        else:
            await peer.reader.read(65_536)  # what is not read turns a close into a reset
            peer.writer.close()
            await peer.writer.wait_closed()

    async with Server(breaks_off) as server:
        with pytest.raises(ConnectionError):
            await ask(http, server.place._replace(tls=True))


async def test_a_connection_that_is_closed_after_the_handshake_is_a_failed_connection(
    http: Connections, trusted: Certificates
) -> None:
    async def leaves(peer: Peer) -> None:
        peer.writer.close()
        await peer.writer.wait_closed()

    async with Server(leaves, tls=trusted.right) as server:
        with pytest.raises(ConnectionError):
            await ask(http, server.place)


@pytest.mark.parametrize("raw", CUT_REPLIES.values(), ids=list(CUT_REPLIES))
async def test_a_secure_connection_that_ends_within_the_reply_is_not_an_answer(
    http: Connections, trusted: Certificates, raw: bytes
) -> None:
    async def cuts(peer: Peer) -> None:
        await peer.request()
        await peer.write(raw)

    async with Server(first(cuts, echoes), tls=trusted.right) as server:
        with pytest.raises(ConnectionError):
            await ask(http, server.place)

        assert (await ask(http, server.place, b"mine")).body == b"mine"


async def test_a_body_without_a_length_ends_with_its_secure_connection(
    http: Connections, trusted: Certificates
) -> None:
    async with Server(says_and_ends(OK + b"\r\nhi"), tls=trusted.right) as server:
        assert (await ask(http, server.place)).body == b"hi"


@pytest.mark.parametrize("said", [False, True], ids=["without a word", "by the rules"])
async def test_a_server_that_ends_an_idle_secure_connection_costs_the_next_call_nothing(
    http: Connections, trusted: Certificates, *, said: bool
) -> None:
    async def ends(peer: Peer) -> None:
        await peer.request()
        await peer.write(HI)
        if said:
            peer.writer.close()
            await peer.writer.wait_closed()

    async with Server(first(ends, echoes), tls=trusted.right) as server:
        await ask(http, server.place)
        await server.settled()
        await turns(3)

        assert (await ask(http, server.place, b"mine")).body == b"mine"


async def test_a_large_request_arrives_whole_over_tls(http: Connections, trusted: Certificates) -> None:
    body = os.urandom(1024) * 4_096
    async with Server(echoes, tls=trusted.right) as server:
        assert (await ask(http, server.place, body, most=BIG)).body == body


@pytest.mark.parametrize("kept", [False, True], ids=["a new connection", "a kept connection"])
async def test_a_secure_call_that_is_cancelled_at_any_moment_leaves_nothing_open(
    http: Connections, trusted: Certificates, *, kept: bool
) -> None:
    async with Server(echoes, tls=trusted.right) as server:
        await cancelled_at_every_turn(http, server, kept=kept)

        assert (await ask(http, server.place, b"mine")).body == b"mine"


# Names and addresses.


class Names:
    """Where the name `both.test` leads, and a port that is free at both of its addresses."""

    def __init__(self, port: int) -> None:
        self.hosts, self.asked, self.place = ["::1", "127.0.0.1"], 0, Endpoint("both.test", port, tls=False)

    async def find(self, host: str, port: int, **_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        assert host == self.place.host
        self.asked += 1
        await asyncio.sleep(0)
        if not self.hosts:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(family_of(host), socket.SOCK_STREAM, 6, "", (host, port)) for host in self.hosts]


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Names]:
    try:
        bound("::1", 0).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    while True:
        with bound("127.0.0.1", 0) as one, suppress(OSError), bound("::1", one.getsockname()[1]):
            found = Names(one.getsockname()[1])
            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", found.find)
            yield found
            return


async def test_an_address_of_ipv6_is_reached(http: Connections, names: Names) -> None:
    async with Server(echoes, host="::1") as server:
        assert (await ask(http, server.place)).body == b"{}"
        assert names.asked == 0


async def test_localhost_is_reached(http: Connections) -> None:
    async with Server(echoes) as server:
        assert (await ask(http, server.place._replace(host="localhost"))).body == b"{}"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("order", [1, -1])
async def test_a_name_is_reached_whichever_of_its_addresses_answers(
    http: Connections, names: Names, host: str, order: int
) -> None:
    names.hosts = names.hosts[::order]
    async with Server(echoes, host=host, port=names.place.port):
        assert (await ask(http, names.place)).body == b"{}"


async def test_a_name_is_reached_though_its_first_address_is_silent(http: Connections, names: Names) -> None:
    async with Server(echoes, port=names.place.port):
        with silent("::1", names.place.port):
            assert (await ask(http, names.place)).body == b"{}"


async def test_another_family_is_tried_before_all_addresses_of_the_first(http: Connections, names: Names) -> None:
    spellings = [f"{'0:' * zeros}:{'1':0>{digits}}" for zeros in range(1, 7) for digits in range(1, 5)]
    names.hosts = [*spellings, "127.0.0.1"]
    async with Server(echoes, port=names.place.port):
        with silent("::1", names.place.port):
            assert (await ask(http, names.place, seconds=5)).body == b"{}"


async def test_a_name_that_leads_nowhere_is_a_failed_connection(http: Connections, names: Names) -> None:
    names.hosts = []
    with pytest.raises(NobodyThereError):
        await ask(http, names.place)


async def test_a_port_where_nobody_listens_is_a_failed_connection(http: Connections, names: Names) -> None:
    with pytest.raises(NobodyThereError, match="Connection refused"):
        await ask(http, names.place)

    assert names.asked == 1


async def test_an_address_that_was_reached_is_used_again_for_a_minute(
    http: Connections, clock: Clock, names: Names
) -> None:
    last = says(OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi")
    async with Server(last, port=names.place.port) as server:
        for _ in range(3):
            await ask(http, names.place)
        assert (server.accepted, names.asked) == (3, 1)

        clock.now += 61
        await ask(http, names.place)
        assert (server.accepted, names.asked) == (4, 2)


@pytest.fixture
async def reached(http: Connections, names: Names) -> Endpoint:
    """A name that was reached at 127.0.0.1, where nobody listens any more."""
    async with Server(echoes, port=names.place.port):
        await ask(http, names.place)
        await http.close()
    return names.place


async def test_an_address_that_refuses_is_given_up(http: Connections, reached: Endpoint) -> None:
    async with Server(echoes, host="::1", port=reached.port):
        responses = await asyncio.gather(*(ask(http, reached, b"%d" % number) for number in range(10)))

        assert [response.body for response in responses] == [b"%d" % number for number in range(10)]


async def test_an_address_that_refuses_many_at_once_is_a_failed_connection_for_each(
    http: Connections, reached: Endpoint
) -> None:
    outcomes = await asyncio.gather(*(ask(http, reached) for _ in range(10)), return_exceptions=True)

    assert {type(outcome) for outcome in outcomes} == {NobodyThereError}


async def test_an_address_that_falls_silent_costs_one_call_and_is_given_up(
    http: Connections, reached: Endpoint
) -> None:
    async with Server(echoes, host="::1", port=reached.port):
        with silent("127.0.0.1", reached.port):
            with pytest.raises(NotConnectedError):
                await ask(http, reached, seconds=0.1)

            assert (await ask(http, reached)).body == b"{}"


async def test_an_address_that_now_belongs_to_another_host_is_given_up(
    http: Connections, names: Names, trusted: Certificates
) -> None:
    place = names.place._replace(tls=True)
    async with Server(echoes, port=place.port, tls=trusted.right):
        await ask(http, place)
        await http.close()
    wrong = Server(echoes, port=place.port, tls=trusted.wrong)
    async with wrong, Server(echoes, host="::1", port=place.port, tls=trusted.right):
        assert (await ask(http, place)).body == b"{}"


async def test_a_name_whose_address_now_belongs_to_another_host_is_looked_up_again(
    http: Connections, names: Names, trusted: Certificates
) -> None:
    place, names.hosts = names.place._replace(tls=True), ["127.0.0.1"]
    async with Server(echoes, port=place.port, tls=trusted.right):
        await ask(http, place)
        await http.close()
    names.hosts = ["::1"]
    wrong = Server(echoes, port=place.port, tls=trusted.wrong)
    async with wrong, Server(echoes, host="::1", port=place.port, tls=trusted.right):
        responses = await asyncio.gather(*(ask(http, place, b"%d" % number) for number in range(10)))

        assert [response.body for response in responses] == [b"%d" % number for number in range(10)]
        assert names.asked == 2
