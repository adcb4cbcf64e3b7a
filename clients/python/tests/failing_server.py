"""A server that fails on purpose, for tests of retries."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from switchyard import Switchyard

#: A server's reaction to a request: a status with headers and a body, or None to drop the connection.
Answer = tuple[int, dict[str, str], dict[str, object] | str] | None
OK: Answer = (200, {}, {"url": "http://x/", "data": []})
COMPUTER: Answer = (200, {}, {"id": "cmp_1", "name": "one"})


def events(*each: dict[str, object]) -> Answer:
    return 200, {"content-type": "text/event-stream"}, "".join(f"data: {json.dumps(one)}\n\n" for one in each)


def refusal(code: str, status: int = 429, **headers: str) -> Answer:
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        {"error": {"code": code}},
    )


@contextmanager
def failing_server(*answers: Answer) -> Iterator[tuple[Switchyard, list[str | None]]]:
    """A client of a server that gives these answers, and the idempotency key of each request."""
    left = list(answers)
    keys: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            keys.append(self.headers.get("idempotency-key"))
            answer = left.pop(0)
            if answer is None:
                self.close_connection = True
                return
            status, headers, body = answer
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_DELETE = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Switchyard(url=f"http://127.0.0.1:{server.server_port}", api_key="sy_test") as client:
            yield client, keys
    finally:
        server.shutdown()
        server.server_close()
