"""Address and key: the caller's, or those of the environment."""

from __future__ import annotations

import os

URL_DEFAULT = "http://127.0.0.1:8080"
RETRIES_MAX_DEFAULT = 2


def url_of(url: str | None) -> str:
    return (url or os.environ.get("SWITCHYARD_URL") or URL_DEFAULT).rstrip("/")


def key_of(api_key: str | None) -> str:
    key = api_key or os.environ.get("SWITCHYARD_KEY")
    if not key:
        raise ValueError("No API key. Pass `api_key` or set SWITCHYARD_KEY.")
    return key
