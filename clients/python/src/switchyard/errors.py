"""Errors of the API as exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2


class SwitchyardError(Exception):
    """An error that the API answered. `code` is for programs (docs/errors.md), the message for people."""

    def __init__(
        self, error: Mapping[str, Any], *, status: int | None = None, request_id: str | None = None
    ) -> None:
        super().__init__(error.get("message") or f"The API answered {status} without a reason.")
        self.code: str = error.get("code") or "unknown"
        #: HTTP status; None when a stream failed after its beginning.
        self.status = status
        #: Names the request in Logs.
        self.request_id: str | None = request_id or error.get("request_id")
        #: The field at fault, if one is.
        self.param: str | None = error.get("param")
        self.details: dict[str, Any] = dict(error.get("details") or {})


def error_of(response: httpx2.Response) -> SwitchyardError:
    """The error in an answer whose body was read; a proxy may have answered without the API's body."""
    try:
        body = response.json()
    except ValueError:
        body = None
    error = body.get("error") if isinstance(body, dict) else None
    return SwitchyardError(
        error if isinstance(error, dict) else {},
        status=response.status_code,
        request_id=response.headers.get("x-request-id"),
    )
