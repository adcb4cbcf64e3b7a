"""Which requests are sent again, and when."""

from __future__ import annotations

import random

import httpx2

RETRY_DELAY_S_MIN = 0.5
RETRY_DELAY_S_MAX = 60.0
#: What a proxy answers when it lost the API.
PROXY_FAILED = frozenset({502, 503, 504})


def is_kept_in_memory(request: httpx2.Request) -> bool:
    """Whether the body can be sent again: a file or a generator cannot."""
    return isinstance(request.stream, httpx2.ByteStream)


def is_worth_retrying(response: httpx2.Response, *, runs_once: bool) -> bool:
    advice = response.headers.get("x-should-retry")
    if advice is not None:
        return advice == "true"
    return runs_once and response.status_code in PROXY_FAILED


def delay_s(attempt: int, retry_after: str | None) -> float:
    """Doubles with each attempt, with jitter, so that many clients do not come back at once."""
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), RETRY_DELAY_S_MAX)
    return min(RETRY_DELAY_S_MIN * (1 << (attempt - 1)), RETRY_DELAY_S_MAX) * random.uniform(0.75, 1.0)
