"""Endpoints, errors and retries. Retries run against a server that fails on purpose."""

from contextlib import closing

import httpx2
import pytest
from failing_server import COMPUTER, OK, failing_server, refusal

from switchyard import Switchyard, SwitchyardError


def test_types_and_answers_endpoints(sy: Switchyard) -> None:
    assert "local/chat" in [model["id"] for model in sy.api.list_models()["data"]]
    assert sy.api.get_model("local", "chat")["type"] == "language"
    assert sy.api.get_usage(group_by="model")["total"]["cost"] >= 0


def test_answers_models_streamed_and_whole_with_sound_as_a_response(sy: Switchyard) -> None:
    body = {"model": "local/chat", "messages": [{"role": "user", "content": "What is 6 * 7?"}], "seed": 1}
    assert sy.api.create_chat_completion(body)["choices"][0]["message"]["content"] == "6 * 7 = 42"
    chunks = list(sy.api.create_chat_completion_stream(body))
    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert "42" in text


def test_returns_a_transcription_as_text_when_it_is_not_json() -> None:
    body = {"model": "local/transcribe", "audio": "", "response_format": "vtt"}
    with failing_server((200, {"content-type": "text/vtt"}, "WEBVTT\n")) as (client, _):
        assert client.api.create_transcription(body) == "WEBVTT\n"


def test_stores_lists_reads_and_deletes_files(sy: Switchyard) -> None:
    stored = sy.api.create_file({"file": ("note.txt", b"kept")}, {"purpose": "user_data"})
    assert stored["id"] in [each["id"] for each in sy.api.list_files(limit=5)["data"]]
    assert sy.api.get_file_content(stored["id"]).content == b"kept"
    assert sy.api.delete_file(stored["id"])["deleted"]


def test_follows_events_from_a_position_on(sy: Switchyard) -> None:
    ids = [sy.api.create_key({"name": name, "permissions": ["usage:read"]})["id"] for name in ("first", "second")]
    of_ours = [f"{id}:created" for id in ids]
    with closing(sy.api.stream_events(since="0", type="key.created")) as events:
        while next(events)["id"] != of_ours[0]:
            pass
        position = events.position
    with closing(sy.api.stream_events(since=position, type="key.created")) as events:
        assert next(events)["id"] == of_ours[1]


def test_raises_errors_of_the_api_with_code_status_and_request_id(sy: Switchyard) -> None:
    with pytest.raises(SwitchyardError) as raised:
        sy.api.get_file("file_none")
    assert (raised.value.code, raised.value.status) == ("file_not_found", 404)
    assert (raised.value.request_id or "").startswith("req_")


def test_a_post_under_one_key_runs_once(sy: Switchyard) -> None:
    body = {"model": "local/chat", "messages": [{"role": "user", "content": "What is 6 * 7?"}]}
    first = sy.api.create_chat_completion(body, idempotency_key="of-python")
    assert sy.api.create_chat_completion(body, idempotency_key="of-python")["id"] == first["id"]


def test_sends_a_post_again_under_its_key_when_the_connection_is_lost() -> None:
    with failing_server(None, OK) as (client, keys):
        client.api.create_computer_link("cmp_1", {})
    assert keys[0] is not None and keys == [keys[0]] * 2


def test_gives_up_after_max_retries() -> None:
    with failing_server(None, None, None, OK) as (client, keys):
        with pytest.raises(httpx2.TransportError):
            client.api.create_computer_link("cmp_1", {})
    assert len(keys) == 3


def test_sends_a_refused_request_again_only_when_the_api_advises_it() -> None:
    with failing_server(refusal("rate_limited", x_should_retry="true", retry_after="0"), OK) as (
        client,
        keys,
    ):
        client.api.create_computer_link("cmp_1", {})
    assert len(keys) == 2
    with failing_server(refusal("computer_limit_reached", x_should_retry="false"), OK) as (client, keys):
        with pytest.raises(SwitchyardError, match="429"):
            client.api.create_computer({})
    assert len(keys) == 1


def test_never_sends_a_stream_again_that_may_have_begun() -> None:
    with failing_server(None, OK) as (client, keys):
        with pytest.raises(httpx2.TransportError):
            list(client.api.exec_in_computer_stream("cmp_1", {"command": "true"}))
    assert keys == [None]


def test_goes_on_without_its_own_key_when_kept_answers_fill_the_quota() -> None:
    with failing_server(refusal("idempotency_quota_exceeded", x_should_retry="false"), OK) as (client, keys):
        client.api.create_computer_link("cmp_1", {})
    assert keys[0] is not None and keys[1] is None


def test_an_upload_is_sent_once_and_without_a_key() -> None:
    with failing_server(None, OK) as (client, keys):
        with pytest.raises(httpx2.TransportError):
            client.api.create_file({"file": ("note.txt", b"lost")}, {"purpose": "user_data"})
    assert keys == [None]


def test_waits_for_the_first_request_under_its_key_and_spends_no_retries_on_it() -> None:
    running = refusal("idempotency_in_use", 409, x_should_retry="true", retry_after="0")
    with failing_server(None, *[running] * 5, None, OK) as (client, keys):
        client.api.create_computer_link("cmp_1", {})
    assert len(set(keys)) == 1 and len(keys) == 8


def test_waits_for_the_first_request_no_longer_than_its_own_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    running = refusal("idempotency_in_use", 409, x_should_retry="true", retry_after="0")
    monkeypatch.setattr("switchyard.retries.monotonic", iter([0.0, 59.0, 61.0]).__next__)
    with failing_server(running, running, OK) as (client, keys):
        client.http.timeout = httpx2.Timeout(60)
        with pytest.raises(SwitchyardError, match="409"):
            client.api.create_computer_link("cmp_1", {})
    assert len(keys) == 2


def test_a_computer_deleted_by_a_lost_request_is_deleted() -> None:
    with failing_server(COMPUTER, None, refusal("computer_not_found", 404)) as (client, keys):
        with client.computers.create():
            pass
    assert len(keys) == 3


def test_a_computer_that_cannot_be_deleted_does_not_hide_the_error_of_its_block() -> None:
    failed = refusal("service_unavailable", 503, x_should_retry="false")
    with failing_server(COMPUTER, failed, COMPUTER, failed) as (client, _):
        with pytest.raises(ZeroDivisionError) as raised, client.computers.create():
            raise ZeroDivisionError
        assert raised.value.__notes__[0].startswith("Computer cmp_1 could not be deleted: ")
        with pytest.raises(SwitchyardError, match="503"), client.computers.create():
            pass
