"""Computers of the asynchronous client, against a running stack: SWITCHYARD_URL and SWITCHYARD_KEY."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from switchyard import AsyncComputer, AsyncSwitchyard, ExecOutput, SwitchyardError

pytestmark = pytest.mark.anyio


@pytest.fixture
async def computer() -> AsyncIterator[AsyncComputer]:
    async with AsyncSwitchyard() as sy, await sy.computers.create(cpu=0.25, memory_mb=512) as computer:
        yield computer


async def test_runs_commands_at_the_same_time_and_ends_the_one_that_is_left(computer: AsyncComputer) -> None:
    waits = computer.exec("until [ -e go ]; do sleep 0.05; done; echo went")
    went, touched = await asyncio.gather(waits, computer.exec("touch go; exit 3"))
    assert (went.stdout, went.exit_code, touched.exit_code) == ("went\n", 0, 3)
    async with aclosing(computer.exec_stream("echo up; exec sleep 4321")) as events:
        async for event in events:
            if isinstance(event, ExecOutput):
                break
    gone = 'while pgrep -f "^sleep 4321" > /dev/null; do sleep 0.05; done'
    assert (await computer.exec(gone, timeout=30)).exit_code == 0
    with pytest.raises(SwitchyardError) as raised:
        await computer.exec("echo begun; sleep 60", timeout=10)
    assert (raised.value.code, raised.value.details["stdout"]) == ("command_timed_out", "begun\n")


async def test_writes_lists_reads_and_removes_files(computer: AsyncComputer) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b"one ", b"two"):
            yield piece

    await computer.files.write("data/a.txt", pieces())
    await computer.files.write("data/b.txt", "grüße")
    assert [entry["name"] for entry in await computer.files.list("data")] == ["a.txt", "b.txt"]
    assert await computer.files.read("data/b.txt") == "grüße"
    assert await computer.files.read("data/a.txt", format="bytes") == b"one two"
    stream = await computer.files.read("data/a.txt", format="stream")
    assert b"".join([piece async for piece in stream]) == b"one two"
    with pytest.raises(IsADirectoryError):
        await computer.files.read("data")
    await computer.files.remove("data", recursive=True)
    await computer.exec("mkdir many && cd many && seq 10001 | xargs touch")
    with pytest.raises(RuntimeError, match="many has over 10000 entries"):
        await computer.files.list("many")


async def test_opens_a_terminal_links_a_port_stops_and_deletes(computer: AsyncComputer) -> None:
    async with await computer.terminal(cols=100, rows=30) as terminal:
        await terminal.write("stty size; exit 7\n")
        shown = b"".join([data async for data in terminal])
        assert (b"30 100" in shown, await terminal.wait()) == (True, 7)
    assert (await computer.ports.link(8000, minutes=5)).url.endswith("/")
    assert (await computer.stop())["status"] == "stopped"
    assert (await computer.get_info())["status"] == "stopped"
