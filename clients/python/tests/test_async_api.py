"""The asynchronous client: its source is that of the synchronous one, so only what differs is tested here."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from failing_server import OK, failing_server, refusal

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
