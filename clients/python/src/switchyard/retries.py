"""Which requests are sent again, and when."""

from __future__ import annotations

import random
import uuid
from time import monotonic

import httpx2

from .errors import SwitchyardError

KEY = "idempotency-key"
RETRY_DELAY_S_MIN = 0.5
RETRY_DELAY_S_MAX = 60.0
#: Between polls for the answer to the first request under a key; polls count in the rate limits.
ASK_DELAY_S_MAX = 10.0
#: Statuses of a proxy that lost the API.
PROXY_FAILED = frozenset({502, 503, 504})


class Retries:
    """
    Every repeatable POST that is not a stream gets an `Idempotency-Key`, so that it runs once however often it is sent.
    It is sent again after a lost connection, and when the answer's `x-should-retry` says that this makes sense.
    After a failure: the seconds to wait before the request is sent again, or None if it is not.
    """

    def __init__(
        self, request: httpx2.Request, retries_max: int, *, is_stream: bool, wait_s_max: float
    ) -> None:
        self._request = request
        self._is_stream = is_stream
        # A body that is a file or a generator cannot be sent again.
        self._retries_max = retries_max if isinstance(request.stream, httpx2.ByteStream) else 0
        self._retries = 0
        self._asked = 0
        self._waits_until = monotonic() + wait_s_max
        self._has_own_key = (
            request.method == "POST" and KEY not in request.headers and not is_stream and self._retries_max > 0
        )
        if self._has_own_key:
            request.headers[KEY] = str(uuid.uuid4())

    def after_loss(self, lost: httpx2.TransportError) -> float | None:
        was_sent = not isinstance(lost, httpx2.ConnectError | httpx2.ConnectTimeout)
        if was_sent and (self._is_stream or not self._runs_once()):
            return None
        return self._next_delay_s(None)

    def after_error(self, error: SwitchyardError, response: httpx2.Response) -> float | None:
        if self._has_own_key and error.code == "idempotency_quota_exceeded":
            self._request.headers.pop(KEY, None)  # nothing ran; without a key it may run
            return self._next_delay_s("0")
        advice = response.headers.get("x-should-retry")
        is_lost_by_proxy = not self._is_stream and self._runs_once() and response.status_code in PROXY_FAILED
        if not (is_lost_by_proxy if advice is None else advice == "true"):
            return None
        retry_after = response.headers.get("retry-after")
        if error.code == "idempotency_in_use":  # waiting for the answer of the first request is no retry
            if self._retries_max == 0 or monotonic() >= self._waits_until:
                return None
            self._asked += 1
            return max(delay_s(1, retry_after), min(delay_s(self._asked, None), ASK_DELAY_S_MAX))
        return self._next_delay_s(retry_after)

    def _runs_once(self) -> bool:
        return self._request.method in ("GET", "PUT", "DELETE") or KEY in self._request.headers

    def _next_delay_s(self, retry_after: str | None) -> float | None:
        if self._retries >= self._retries_max:
            return None
        self._retries += 1
        return delay_s(self._retries, retry_after)


def delay_s(attempt: int, retry_after: str | None) -> float:
    """Doubles with each attempt, with jitter, so that many clients do not come back at once."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), RETRY_DELAY_S_MAX)
    return min(RETRY_DELAY_S_MIN * (1 << (attempt - 1)), RETRY_DELAY_S_MAX) * random.uniform(0.75, 1.0)
