"""The asynchronous client: its source is that of the synchronous one, so only what differs is tested here."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
from failing_server import COMPUTER, OK, events, failing_server, refusal

from switchyard import AsyncSwitchyard, SwitchyardError

pytestmark = pytest.mark.anyio
QUESTION = [{"role": "user", "content": "What is 6 * 7?"}]
BODY = {"model": "local/chat", "messages": QUESTION, "seed": 1}


@pytest.fixture
async def sy() -> AsyncIterator[AsyncSwitchyard]:
    async with AsyncSwitchyard() as client:
        yield client


async def test_answers_models_whole_streamed_and_together(sy: AsyncSwitchyard) -> None:
    answers = await asyncio.gather(*[sy.api.create_chat_completion(BODY) for _ in range(3)])
    assert all("42" in str(answer["choices"][0]["message"]) for answer in answers)
    text = ""
    async for chunk in sy.api.create_chat_completion_stream(BODY):
        text += "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    assert "42" in text


async def test_ends_a_stream_that_is_left(sy: AsyncSwitchyard) -> None:
    async for _ in sy.api.create_chat_completion_stream(BODY):
        break
    assert (await sy.api.create_chat_completion(BODY))["object"] == "chat.completion"


async def test_stores_reads_and_deletes_files(sy: AsyncSwitchyard) -> None:
    stored = await sy.api.create_file({"file": ("note.txt", b"kept")}, {"purpose": "user_data"})
    assert (await sy.api.get_file_content(stored["id"])).content == b"kept"
    assert (await sy.api.delete_file(stored["id"]))["deleted"]


async def test_raises_errors_of_the_api(sy: AsyncSwitchyard) -> None:
    with pytest.raises(SwitchyardError) as raised:
        await sy.api.get_file("file_none")
    assert (raised.value.code, raised.value.status) == ("file_not_found", 404)
    with pytest.raises(SwitchyardError) as raised:
        async for _ in sy.api.create_chat_completion_stream({**BODY, "model": "acme/none"}):
            pass
    assert raised.value.code == "model_not_found"


async def test_sends_a_post_again_under_its_key_and_never_a_stream() -> None:
    with failing_server(None, refusal("rate_limited", x_should_retry="true", retry_after="0"), OK) as (it, keys):
        async with AsyncSwitchyard(url=it.url, api_key="sy_test") as sy:
            await sy.api.create_computer_link("cmp_1", {})
    assert keys[0] is not None and keys == [keys[0]] * 3
    with failing_server(None, OK) as (it, keys):
        async with AsyncSwitchyard(url=it.url, api_key="sy_test") as sy:
            with pytest.raises(httpx2.TransportError):
                async for _ in sy.api.exec_in_computer_stream("cmp_1", {"command": "true"}):
                    pass
    assert keys == [None]


async def test_ends_its_own_streams_before_it_returns_and_those_of_a_block_with_the_block() -> None:
    left: list[str] = []

    def not_closed(generator: AsyncGenerator[Any]) -> None:
        frame = generator.ag_frame  # type: ignore[attr-defined]
        if frame.f_globals["__name__"].startswith("switchyard."):
            left.append(frame.f_code.co_qualname)

    created = events({"type": "computer", "computer": {"id": "cmp_1", "name": "one"}}, {"type": "never read"})
    ended = events({"type": "exit", "exit_code": 0, "duration_ms": 1}, {"type": "never read"})
    with failing_server(created, ended, ended, ended) as (it, _):
        async with AsyncSwitchyard(url=it.url, api_key="sy_test") as sy:
            finalizer = sys.get_asyncgen_hooks().finalizer
            sys.set_asyncgen_hooks(finalizer=not_closed)
            try:
                computer = await sy.computers.create(on_progress=print)
                await computer.exec("true")
                async with aclosing(computer.exec_stream("true")) as stream:
                    async for _ in stream:
                        break
                async with aclosing(sy.api.exec_in_computer_stream("cmp_1", {"command": "true"})) as answers:
                    async for _ in answers:
                        break
            finally:
                sys.set_asyncgen_hooks(finalizer=finalizer)
    assert left == []


async def test_a_computer_that_cannot_be_deleted_does_not_hide_the_error_of_its_block() -> None:
    failed = refusal("service_unavailable", 503, x_should_retry="false")
    with failing_server(COMPUTER, failed) as (it, _):
        async with AsyncSwitchyard(url=it.url, api_key="sy_test") as sy:
            with pytest.raises(ZeroDivisionError):
                async with await sy.computers.create():
                    raise ZeroDivisionError
