"""Computers, against a running stack: SWITCHYARD_URL and SWITCHYARD_KEY."""

import json
import re
import urllib.request
from contextlib import closing
from datetime import UTC, datetime

import pytest

from switchyard import Computer, ExecExit, ExecOutput, ExecStarted, Switchyard, SwitchyardError, Terminal

LARGE_BYTES = 3 * 1024 * 1024


def test_is_found_by_its_id_and_in_the_list(sy: Switchyard, computer: Computer) -> None:
    assert sy.computers.get(computer.id).name == "tested"
    assert computer.id in [each["id"] for each in sy.computers.list()]
    info = computer.get_info()
    assert (info["status"], info["cpu"]) == ("running", 0.25)


def test_reports_the_progress_of_a_creation(sy: Switchyard) -> None:
    phases: list[str] = []
    with sy.computers.create(
        cpu=0.25, memory_mb=512, on_progress=lambda progress: phases.append(progress["phase"])
    ) as other:
        assert other.get_info()["status"] == "running"
    assert "starting" in phases or phases == []  # a warm computer has no progress
    with pytest.raises(SwitchyardError) as raised:
        other.get_info()
    assert raised.value.code == "computer_not_found"


def test_returns_commands_that_fail_with_exit_code_and_both_outputs_merged(computer: Computer) -> None:
    result = computer.exec('pwd; echo "$WHO" >&2; cat; exit 3', cwd="/tmp", env={"WHO": "me"}, stdin="read")
    assert (result.stdout, result.stderr, result.exit_code) == ("/tmp\nme\nread", "", 3)
    assert result.duration_ms >= 0


def test_yields_output_while_the_command_runs_including_non_text_bytes(computer: Computer) -> None:
    output = b""
    kinds: list[str] = []
    for event in computer.exec_stream(
        "printf 'é\\342\\200\\250\\377'; until [ -e go ]; do sleep 0.05; done; echo end"
    ):
        kinds.append(event.type)
        if isinstance(event, ExecOutput):
            if output == b"":
                computer.files.write("go", "")
            output += event.data
    assert output == "é\u2028".encode() + b"\xffend\n"
    assert (kinds[0], kinds[-1]) == (ExecStarted.type, ExecExit.type)


def test_keeps_the_output_of_a_command_that_exceeds_its_timeout(computer: Computer) -> None:
    with pytest.raises(SwitchyardError) as raised:
        computer.exec("echo begun; sleep 60", timeout=10)
    assert raised.value.code == "command_timed_out"
    assert raised.value.details["stdout"] == "begun\n"


def test_ends_a_command_when_its_stream_is_left(computer: Computer) -> None:
    with closing(computer.exec_stream("echo up; exec sleep 4321")) as events:
        for event in events:
            if isinstance(event, ExecOutput):
                break
    gone = 'while pgrep -f "^sleep 4321" > /dev/null; do sleep 0.05; done'
    assert computer.exec(gone, timeout=30).exit_code == 0


def test_writes_lists_reads_and_removes_files(computer: Computer) -> None:
    large = bytes(index % 251 for index in range(LARGE_BYTES))
    computer.files.write(
        "data/large.bin", (large[start : start + 65536] for start in range(0, LARGE_BYTES, 65536))
    )
    assert len(computer.files.write("data/note.txt", "grüße")["sha256"]) == 64
    entries = [(entry["name"], entry["bytes"]) for entry in computer.files.list("data")]
    assert entries == [("large.bin", LARGE_BYTES), ("note.txt", 7)]
    assert computer.files.read("data/note.txt") == "grüße"
    assert computer.files.read("data/large.bin", format="bytes") == large
    assert b"".join(computer.files.read("data/large.bin", format="stream")) == large
    with pytest.raises(IsADirectoryError, match=r"data is a folder. Use files.list."):
        computer.files.read("data")
    with pytest.raises(NotADirectoryError, match=r"data/note.txt is a file. Use files.read."):
        computer.files.list("data/note.txt")
    computer.files.remove("data", recursive=True)
    with pytest.raises(SwitchyardError) as raised:
        computer.files.read("data/note.txt")
    assert raised.value.code == "path_not_found"


def test_gives_a_link_to_a_port_that_needs_no_key(computer: Computer) -> None:
    computer.files.write("page.txt", "served")
    computer.exec(
        "(python3 -m http.server 8000 > /dev/null 2>&1 &); until curl -sf localhost:8000; do sleep 0.1; done"
    )
    link = computer.ports.link(8000, minutes=5)
    with urllib.request.urlopen(f"{link.url}page.txt") as answer:
        assert answer.read() == b"served"
    assert link.expires_at > datetime.now(UTC)


def shown_until(terminal: Terminal, pattern: str) -> None:
    shown = ""
    for data in terminal:
        shown += data.decode()
        if re.search(pattern, shown):
            return
    raise AssertionError(f"the terminal ended after: {json.dumps(shown)}")


def test_opens_a_resizable_terminal_and_reports_how_the_shell_ended(computer: Computer) -> None:
    with computer.terminal(cols=100, rows=30) as terminal:
        terminal.write("stty size\n")
        shown_until(terminal, "30 100")
        terminal.resize(cols=132, rows=50)
        terminal.write("stty size\n")
        shown_until(terminal, "50 132")
        terminal.write("exit 7\n")
        assert terminal.wait() == 7


def test_stops_refuses_commands_and_starts_with_its_files(computer: Computer) -> None:
    computer.files.write("kept.txt", "kept")
    computer.stop()
    with pytest.raises(SwitchyardError) as raised:
        computer.exec("true")
    assert (raised.value.code, raised.value.status) == ("computer_not_running", 409)
    computer.start()
    assert computer.files.read("kept.txt") == "kept"
