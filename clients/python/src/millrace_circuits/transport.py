"""Calls as JSON over plain HTTP: replicas, certificates, tokens, and what is tried again."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from .problems import Unavailable, problem
from .reading import parameter, read, written

#: The header with an id of a request. The service takes it where the body has no request_id.
IDEMPOTENCY_KEY = "Idempotency-Key"


class Session:
    """Makes calls at the replica that answers, and again where it may pass: see Circuits."""

    def __init__(self, urls: Sequence[str], *, token: str, ca: Optional[str], timeout: float, patience: float) -> None:
        self._urls = [one.rstrip("/") for one in urls]
        for one in self._urls or [""]:
            if urllib.parse.urlsplit(one).scheme not in ("http", "https"):
                raise ValueError(f"{one}: begin with http:// or https://")
        self._token = token.strip()
        if not self._token.isprintable() or " " in self._token:
            raise ValueError("the token is what `millrace tokens create` printed, on one line")  # which is not shown here
        self._timeout, self._patience = timeout, patience
        self._opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca)),
        )

    def __call__(
        self, method: str, path: str, *, answer: str, query: Optional[Mapping[str, object]] = None,
        headers: Optional[Mapping[str, Optional[str]]] = None, body: object = None,
    ) -> object:
        """One call. Every call may be made again: requests have an id, and the others have no second effect."""
        asked = urllib.parse.urlencode({k: parameter(v) for k, v in (query or {}).items() if v is not None}, doseq=True)
        data = None if body is None else json.dumps(written(body)).encode()
        return read(self._patiently(method, f"{path}?{asked}" if asked else path, data, self._headers(headers or {})), answer)

    def _headers(self, given: Mapping[str, Optional[str]]) -> dict[str, str]:
        out = {"Content-Type": "application/json", **{k: v for k, v in given.items() if v is not None}}
        if given.get(IDEMPOTENCY_KEY, "") is None:
            out[IDEMPOTENCY_KEY] = uuid.uuid4().hex
        if self._token:
            out["Authorization"] = "Bearer " + self._token
        return out

    def _patiently(self, method: str, path: str, data: Optional[bytes], headers: dict[str, str]) -> Any:
        end, pause, failed = time.monotonic() + self._patience, 0.2, 0
        said: Optional[Unavailable] = None  # what a service answered says more than that another one is away
        while True:
            try:
                return self._once(method, path, data, headers)
            except Unavailable as why:
                said = why if why.status or said is None else said
                self._urls.append(self._urls.pop(0))
                failed += 1
                if failed % len(self._urls) > 0:
                    continue  # another replica may answer at once
                if time.monotonic() + pause > end:
                    raise said from None
            time.sleep(pause)
            pause = min(2 * pause, 5.0)

    def _once(self, method: str, path: str, data: Optional[bytes], headers: dict[str, str]) -> Any:
        request = urllib.request.Request(self._urls[0] + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise problem(error.code, error.read(1 << 20)) from None
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise Unavailable(0, {"code": "UNAVAILABLE", "detail": str(error)}) from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The service redirects nobody, and the token is for nobody else."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        return None
