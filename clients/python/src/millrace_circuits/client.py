"""Calls of the circuit service as JSON over plain HTTP."""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Optional, Union, cast

from .types import (
    Circuit, LinkCalendar, Maintained, Maintenance, Offer, PathTerms, Proposal, Quota, Quote, Refusal, Reoptimised, Repeat, Statement,
    Terms, Time, Usage,
)

#: The variable of the environment that has the token.
TOKEN_VARIABLE = "MILLRACE_TOKEN"

#: States in which a circuit has no capacity any more.
ENDED = frozenset({"STATE_RELEASED", "STATE_EXPIRED", "STATE_CANCELLED", "STATE_LAPSED", "STATE_FAILED"})


class Problem(Exception):
    """An answer that is no success: problem details (RFC 9457)."""

    def __init__(self, status: int, details: dict[str, Any]) -> None:
        super().__init__(f"{details.get('code', status)}: {details.get('detail', 'no details')}")
        self.status = status
        self.code: str = details.get("code", "")
        self.field: str = details.get("field", "")
        self.refusal: Refusal = cast(Refusal, _numbers(details.get("refusal", {})))


class Refused(Problem):
    """It is not granted as it was asked for; offers are terms that fit."""

    @property
    def offers(self) -> list[Offer]:
        return self.refusal.get("offers", [])


class Unavailable(Problem):
    """Nobody knows whether it was done, or (429) it was not, for now. The same request under the same id tells."""


class TimedOut(Exception):
    """A circuit was not in one of the states in time."""


class Circuits:
    """The circuit service, for one person or program.

    url is that of the control plane, or those of its replicas: the one that answers is asked. token is what
    `millrace tokens create` printed; without one it is taken from the environment, MILLRACE_TOKEN. by is who asks;
    with a token it is the token's owner, whatever is said here. ca is a file of the CA that signed the server's
    certificate, where the system does not know it. timeout is that of one request, patience how long what may pass is
    tried again, both in seconds.
    """

    def __init__(
        self, url: Union[str, Sequence[str]], by: str = "", *, token: Optional[str] = None, ca: Optional[str] = None, timeout: float = 10.0,
        patience: float = 60.0,
    ) -> None:
        self._urls = [one.rstrip("/") for one in ([url] if isinstance(url, str) else url)]
        for one in self._urls or [""]:
            if urllib.parse.urlsplit(one).scheme not in ("http", "https"):
                raise ValueError(f"{one}: begin with http:// or https://")
        self._by, self._timeout, self._patience = by, timeout, patience
        self._token = (os.environ.get(TOKEN_VARIABLE, "") if token is None else token).strip()
        if not self._token.isprintable() or " " in self._token:
            raise ValueError("the token is what `millrace tokens create` printed, on one line")  # which is not shown here
        self._opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca)),
        )

    def quote(self, terms: Terms) -> Quote:
        """What a request would get, or its refusal; nothing is booked."""
        return cast(Quote, self._call("POST", "/v1/quotes", {"by": self._by, "terms": terms}))

    def request(self, terms: Terms, *, commit: bool = True, request_id: Optional[str] = None) -> Circuit:
        """Book a circuit, or hold it. The same request_id with the same terms is the same circuit."""
        body = {"by": self._by, "terms": terms, "commit": commit, "request_id": request_id or uuid.uuid4().hex}
        return cast(Circuit, self._call("POST", "/v1/circuits", body)["circuit"])

    def request_all(
        self, terms: Sequence[Terms], *, repeat: Optional[Repeat] = None, commit: bool = True, request_id: Optional[str] = None,
        dry_run: bool = False,
    ) -> list[Circuit]:
        """Book several circuits of one project, or one for each of several windows: all of them or none.

        dry_run books nothing: the answer is what would be booked, and a refusal is raised as it would be.
        """
        body = {"by": self._by, "terms": list(terms), "commit": commit, "request_id": request_id or uuid.uuid4().hex}
        if repeat is not None:
            body["repeat"] = repeat
        if dry_run:
            body["dry_run"] = True
        return cast("list[Circuit]", _granted(self._call("POST", "/v1/batches", body))["circuits"])

    def get(self, circuit: str) -> Circuit:
        return cast(Circuit, self._call("GET", self._path(circuit))["circuit"])

    def list(self, **filters: Any) -> Iterator[Circuit]:
        """Circuits page by page; filters are the query parameters, such as project="astro"."""
        while True:
            page = self._call("GET", "/v1/circuits?" + urllib.parse.urlencode(_sent(filters), doseq=True))
            yield from cast("list[Circuit]", page.get("circuits", []))
            filters["page_token"] = page.get("next_page_token", "")
            if not filters["page_token"]:
                return

    def commit(self, circuit: str, note: str = "") -> Circuit:
        return self._act(circuit, "commit", {"note": note})

    def extend(self, circuit: str, until: Time) -> Circuit:
        return self._act(circuit, "extend", {"until": until})

    def release(self, circuit: str, note: str = "") -> Circuit:
        return self._act(circuit, "release", {"note": note})

    def activate(self, circuit: str, note: str = "") -> Circuit:
        """Let a circuit that is kept off routers onto them, in its window."""
        return self._act(circuit, "activate", {"note": note})

    def deactivate(self, circuit: str, note: str = "") -> Circuit:
        """Take a circuit off routers and keep it off them; it stays booked."""
        return self._act(circuit, "deactivate", {"note": note})

    def modify(
        self, circuit: Circuit, *, rate_bits_per_second: int = 0, end: Optional[Time] = None, open_ended: bool = False, note: str = "",
        path: Optional[PathTerms] = None, dry_run: bool = False,
    ) -> Circuit:
        """Change a circuit as it was read; Refused with code OUTDATED where somebody has changed it since.

        path replaces all that the circuit's terms want of its path. dry_run changes nothing: the answer is the circuit as
        it would be, and a refusal is raised as it would be.
        """
        body: dict[str, Any] = {"by": self._by, "note": note, "rate_bits_per_second": rate_bits_per_second, "open_ended": open_ended}
        if end is not None:
            body["end"] = end
        if path is not None:
            body["path"] = path
        if dry_run:
            body["dry_run"] = True
        headers = {"If-Match": f'"{circuit["version"]}"'}
        return cast(Circuit, _granted(self._call("PATCH", self._path(circuit["id"]), body, headers))["circuit"])

    def reoptimise(self, circuit: str = "", *, dry_run: bool = False) -> Reoptimised:
        """Move a circuit, or all of them, to better paths, or say which would be moved."""
        return cast(Reoptimised, self._call("POST", "/v1/reoptimisations", {"by": self._by, "id": circuit, "dry_run": dry_run}))

    def calendar(self, link: str = "", start: Optional[Time] = None, end: Optional[Time] = None) -> list[LinkCalendar]:
        """What is free on links."""
        return cast("list[LinkCalendar]", self._read("/v1/calendar", link=link, start=start, end=end)["links"])

    def quota(self, project: str) -> Quota:
        """What a project may have, and what it has of it."""
        return cast(Quota, self._read(self._project(project, "quota")))

    def proposals(self, project: str) -> list[Proposal]:
        """What the project might request for huge transfers of its hosts that were seen; those with terms can be requested."""
        return cast("list[Proposal]", self._read(self._project(project, "proposals")).get("proposals", []))

    def usage(self, circuit: str, start: Optional[Time] = None, end: Optional[Time] = None) -> Usage:
        """What a circuit sent over time, within its rate and above it, or between ports in both directions."""
        return cast(Usage, self._read(f"{self._path(circuit)}/usage", **{"from": start, "to": end}))

    def statement(self, project: str, start: Optional[Time] = None, end: Optional[Time] = None) -> Statement:
        """What the circuits of a project booked, carried and missed."""
        return cast(Statement, self._read(self._project(project, "statement"), **{"from": start, "to": end}))

    def add_maintenance(
        self, maintenance: str, *, end: Time, reason: str, start: Optional[Time] = None, links: Sequence[str] = (), routers: Sequence[str] = (),
        left_bits_per_second: int = 0, dry_run: bool = False,
    ) -> Maintained:
        """Plan that links or routers are out, as an operator, and see which circuits have to leave them; those are moved at once.

        maintenance is an id of your own, such as a ticket's: the same again under it is answered as the first time.
        """
        body: dict[str, Any] = {
            "by": self._by, "id": maintenance, "end": end, "reason": reason, "links": list(links), "routers": list(routers),
            "left_bits_per_second": left_bits_per_second, "dry_run": dry_run,
        }
        if start is not None:
            body["start"] = start
        return cast(Maintained, self._call("POST", "/v1/maintenance", body))

    def list_maintenance(self, *, all: bool = False) -> list[Maintenance]:
        """What is planned or under way, the earliest first; with all also what is over or removed."""
        return cast("list[Maintenance]", self._read("/v1/maintenance", all="true" if all else None).get("maintenance", []))

    def maintenance(self, maintenance: str) -> Maintained:
        """One maintenance, and the circuits that it still hits."""
        answer = self._read("/v1/maintenance", id=maintenance)
        answer["maintenance"] = answer["maintenance"][0]
        return cast(Maintained, answer)

    def remove_maintenance(self, maintenance: str, note: str = "") -> Maintenance:
        """Give links their capacity back. Circuits stay where they moved."""
        path = f"/v1/maintenance/{urllib.parse.quote(maintenance, safe='')}/remove"
        return cast(Maintenance, self._call("POST", path, {"by": self._by, "note": note})["maintenance"])

    def wait(self, circuit: str, state: str, *, seconds: float, every: float = 1.0) -> Circuit:
        """Wait until a circuit is in a state. It ends early where the circuit is over."""
        end = time.monotonic() + seconds
        while True:
            now = self.get(circuit)
            if now["state"] == state:
                return now
            if now["state"] in ENDED or time.monotonic() >= end:
                raise TimedOut(f"circuit {circuit} is {now['state']}, not {state}")
            time.sleep(min(every, max(end - time.monotonic(), 0)))

    def _act(self, circuit: str, what: str, body: dict[str, Any]) -> Circuit:
        return cast(Circuit, self._call("POST", f"{self._path(circuit)}/{what}", {"by": self._by, **body})["circuit"])

    def _read(self, path: str, **query: Any) -> dict[str, Any]:
        asked = urllib.parse.urlencode(_sent({k: v for k, v in query.items() if v}))
        return self._call("GET", f"{path}?{asked}" if asked else path)

    @staticmethod
    def _project(project: str, what: str) -> str:
        return f"/v1/projects/{urllib.parse.quote(project, safe='')}/{what}"

    @staticmethod
    def _path(circuit: str) -> str:
        return "/v1/circuits/" + urllib.parse.quote(circuit, safe="")

    def _call(self, method: str, path: str, body: Optional[dict[str, Any]] = None, headers: Optional[dict[str, str]] = None) -> dict[str, Any]:
        """One call. Every call may be made again: requests have an id, and the others have no second effect."""
        end, pause, failed = time.monotonic() + self._patience, 0.2, 0
        said: Optional[Unavailable] = None  # what a service answered says more than that another one is away
        while True:
            try:
                return self._once(method, path, body, headers or {})
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

    def _once(self, method: str, path: str, body: Optional[dict[str, Any]], headers: dict[str, str]) -> dict[str, Any]:
        data = None if body is None else json.dumps(_sent(body)).encode()
        sent = {"Content-Type": "application/json", **headers}
        if self._token:
            sent["Authorization"] = "Bearer " + self._token
        request = urllib.request.Request(self._urls[0] + path, data, sent, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return cast("dict[str, Any]", _numbers(json.load(answer)))
        except urllib.error.HTTPError as error:
            with error:
                raise _problem(error.code, error.read(1 << 20)) from None
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise Unavailable(0, {"code": "UNAVAILABLE", "detail": str(error)}) from error


def _granted(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a dry run, whose refusal is no error of HTTP."""
    no = answer.get("refusal")
    if no:
        raise Refused(200, {"code": no["code"], "detail": no.get("reason", ""), "field": no.get("field", ""), "refusal": no})
    return answer


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The service redirects nobody, and the token is for nobody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _problem(status: int, raw: bytes) -> Problem:
    try:
        details = json.loads(raw)
    except ValueError:
        details = None
    if not isinstance(details, dict):
        details = {"detail": raw[:200].decode(errors="replace")}
    if status >= 500 or status == 429:
        return Unavailable(status, details)
    return (Refused if status in (403, 409, 412) else Problem)(status, details)


def _sent(value: Any) -> Any:
    """A value as JSON has it; times with their zone."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value}: say in which time zone")
        return value.isoformat(timespec="seconds")
    if isinstance(value, dict):
        return {k: _sent(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sent(v) for v in value]
    return value


_INTEGERS = ("_bits_per_second", "_bytes", "_microseconds", "_per_mille", "_octets", "_packets", "_seconds", "igp_before", "metric_before", "_gain")


def _numbers(value: Any) -> Any:
    """An answer with int for the whole numbers of 64 bits, which JSON has as text."""
    if isinstance(value, dict):
        names = ("version", "by") if "field" in value else ("version",)  # by of a relaxation is a number, elsewhere a name
        return {k: int(v) if isinstance(v, str) and (k.endswith(_INTEGERS) or k in names) else _numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    return value
