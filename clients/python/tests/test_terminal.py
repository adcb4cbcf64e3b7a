"""Terminals, against a server that sends much output."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.sync.server import ServerConnection, serve

from switchyard import AsyncTerminal, Terminal

#: More than a WebSocket of this library keeps unread by default.
MESSAGES = 40
WAIT_SECONDS = 60


@contextmanager
def showing_server(message: bytes = b"line\n", count: int = MESSAGES) -> Iterator[tuple[str, threading.Event]]:
    """The address of a terminal that shows all its messages at once, and whether they are sent."""
    sent = threading.Event()

    def show(socket: ServerConnection) -> None:
        for _ in range(count):
            socket.send(message)
        sent.set()
        for _ in socket:
            pass

    with serve(show, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/", sent
        server.shutdown()


def test_gets_pongs_while_its_output_is_not_read() -> None:
    """Without them the connection counts as dead."""
    with showing_server() as (url, sent), Terminal.open(url) as terminal:
        assert sent.wait(WAIT_SECONDS)
        assert terminal._socket.ping().wait(WAIT_SECONDS)
        assert [data for _, data in zip(range(MESSAGES), terminal)] == [b"line\n"] * MESSAGES


@pytest.mark.anyio
async def test_gets_pongs_while_its_output_is_not_read_asynchronously() -> None:
    with showing_server() as (url, sent):
        async with await AsyncTerminal.open(url) as terminal:
            assert await asyncio.to_thread(sent.wait, WAIT_SECONDS)
            await asyncio.wait_for(await terminal._socket.ping(), WAIT_SECONDS)
            read = 0
            async for data in terminal:
                assert data == b"line\n"
                read += 1
                if read == MESSAGES:
                    break


def test_a_shell_whose_output_is_not_read_waits_for_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchyard.terminal.UNREAD_MESSAGES_MAX", MESSAGES)
    line = b"x" * 65_536
    with showing_server(line, 20 * MESSAGES) as (url, sent), Terminal.open(url) as terminal:
        deadline = time.monotonic() + WAIT_SECONDS
        while not terminal._socket.recv_messages.paused:
            assert not sent.is_set() and time.monotonic() < deadline
            time.sleep(0.01)
        assert [data for _, data in zip(range(20 * MESSAGES), terminal)] == [line] * 20 * MESSAGES
