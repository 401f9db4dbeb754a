"""The circuit service as programs use it, on top of its operations."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import List, Optional, Union

from .operations import Operations
from .problems import Problem, Refused, TimedOut, Unavailable, refused
from .schemas import (
    AddMaintenanceRequest, Circuit, LinkCalendar, Maintenance, ModifyRequest, PathTerms, Proposal, Repeat, RequestAllRequest, State, Terms, Time,
)
from .transport import Session
from .types import Maintained, Quota, Quote, Reoptimised, Statement, Usage

__all__ = ["ENDED", "TOKEN_VARIABLE", "Circuits", "Problem", "Refused", "TimedOut", "Unavailable"]

#: The variable of the environment that has the token.
TOKEN_VARIABLE = "MILLRACE_TOKEN"

#: States in which a circuit has no capacity any more.
ENDED = frozenset({"STATE_RELEASED", "STATE_EXPIRED", "STATE_CANCELLED", "STATE_LAPSED", "STATE_FAILED"})


class Circuits:
    """The circuit service, for one person or program.

    url is that of the control plane, or those of its replicas: the one that answers is asked. token is what
    `millrace tokens create` printed; without one it is taken from the environment, MILLRACE_TOKEN. by is who asks;
    with a token it is the token's owner, whatever is said here. ca is a file of the CA that signed the server's
    certificate, where the system does not know it. timeout is that of one request, patience how long what may pass is
    tried again, both in seconds.

    operations has a method for each operation of the OpenAPI document, with the same replicas, token and patience.
    """

    def __init__(
        self, url: Union[str, Sequence[str]], by: str = "", *, token: Optional[str] = None, ca: Optional[str] = None, timeout: float = 10.0,
        patience: float = 60.0,
    ) -> None:
        token = os.environ.get(TOKEN_VARIABLE, "") if token is None else token
        self._by = by
        self.operations = Operations(Session([url] if isinstance(url, str) else url, token=token, ca=ca, timeout=timeout, patience=patience))

    def quote(self, terms: Terms) -> Quote:
        """What a request would get, or its refusal; nothing is booked."""
        return self.operations.quote({"by": self._by, "terms": terms})

    def request(self, terms: Terms, *, commit: bool = True, request_id: Optional[str] = None) -> Circuit:
        """Book a circuit, or hold it. The same request_id with the same terms is the same circuit."""
        answer = self.operations.request({"by": self._by, "terms": terms, "commit": commit, "request_id": request_id or uuid.uuid4().hex})
        return answer["circuit"]

    def request_all(
        self, terms: Sequence[Terms], *, repeat: Optional[Repeat] = None, commit: bool = True, request_id: Optional[str] = None,
        dry_run: bool = False, max_paths: int = 1,
    ) -> List[Circuit]:
        """Book several circuits of one project, or one for each of several windows: all of them or none.

        max_paths spreads one volume over so many circuits at most; each has its volume_bytes, and its part of the ports
        of each pair. dry_run books nothing: the answer is what would be booked, and a refusal is raised as it would be.
        """
        body: RequestAllRequest = {"by": self._by, "terms": list(terms), "commit": commit, "request_id": request_id or uuid.uuid4().hex}
        if repeat is not None:
            body["repeat"] = repeat
        if dry_run:
            body["dry_run"] = True
        if max_paths > 1:
            body["max_paths"] = max_paths
        answer = self.operations.request_all(body)
        if answer.get("refusal"):
            raise refused(answer["refusal"])
        return answer["circuits"]

    def get(self, circuit: str) -> Circuit:
        return self.operations.get(circuit)["circuit"]

    def list(
        self, *, project: Optional[str] = None, states: Optional[Sequence[State]] = None, link: Optional[str] = None, start: Optional[Time] = None,
        end: Optional[Time] = None, page_size: Optional[int] = None, page_token: Optional[str] = None, newest_first: Optional[bool] = None,
        request_id: Optional[str] = None,
    ) -> Iterator[Circuit]:
        """Circuits page by page, such as those of project="astro"."""
        while True:
            page = self.operations.list(
                project=project, states=states, link=link, start=start, end=end, page_size=page_size, page_token=page_token,
                newest_first=newest_first, request_id=request_id,
            )
            yield from page.get("circuits", [])
            page_token = page.get("next_page_token")
            if not page_token:
                return

    def commit(self, circuit: str, note: str = "") -> Circuit:
        return self.operations.commit(circuit, {"by": self._by, "note": note})["circuit"]

    def extend(self, circuit: str, until: Time) -> Circuit:
        return self.operations.extend(circuit, {"by": self._by, "until": until})["circuit"]

    def release(self, circuit: str, note: str = "") -> Circuit:
        return self.operations.release(circuit, {"by": self._by, "note": note})["circuit"]

    def activate(self, circuit: str, note: str = "") -> Circuit:
        """Let a circuit that is kept off routers onto them, in its window."""
        return self.operations.activate(circuit, {"by": self._by, "note": note})["circuit"]

    def deactivate(self, circuit: str, note: str = "") -> Circuit:
        """Take a circuit off routers and keep it off them; it stays booked."""
        return self.operations.deactivate(circuit, {"by": self._by, "note": note})["circuit"]

    def modify(
        self, circuit: Circuit, *, rate_bits_per_second: int = 0, end: Optional[Time] = None, open_ended: bool = False, note: str = "",
        path: Optional[PathTerms] = None, dry_run: bool = False,
    ) -> Circuit:
        """Change a circuit as it was read; Refused with code OUTDATED where somebody has changed it since.

        path replaces all that the circuit's terms want of its path. dry_run changes nothing: the answer is the circuit as
        it would be, and a refusal is raised as it would be.
        """
        body: ModifyRequest = {"by": self._by, "note": note, "rate_bits_per_second": rate_bits_per_second, "open_ended": open_ended}
        if end is not None:
            body["end"] = end
        if path is not None:
            body["path"] = path
        if dry_run:
            body["dry_run"] = True
        answer = self.operations.modify(circuit["id"], body, if_match=f'"{circuit["version"]}"')
        if answer.get("refusal"):
            raise refused(answer["refusal"])
        return answer["circuit"]

    def reoptimise(self, circuit: str = "", *, dry_run: bool = False) -> Reoptimised:
        """Move a circuit, or all of them, to better paths, or say which would be moved."""
        return self.operations.reoptimise({"by": self._by, "id": circuit, "dry_run": dry_run})

    def calendar(self, link: str = "", start: Optional[Time] = None, end: Optional[Time] = None) -> List[LinkCalendar]:
        """What is free on links."""
        return self.operations.calendar(link=link or None, start=start, end=end)["links"]

    def quota(self, project: str) -> Quota:
        """What a project may have, and what it has of it."""
        return self.operations.quota(project)

    def proposals(self, project: str) -> List[Proposal]:
        """What the project might request for huge transfers of its hosts that were seen; those with terms can be requested."""
        return self.operations.proposals(project).get("proposals", [])

    def usage(self, circuit: str, start: Optional[Time] = None, end: Optional[Time] = None) -> Usage:
        """What a circuit sent over time, within its rate and above it."""
        return self.operations.usage(circuit, from_=start, to=end)

    def statement(self, project: str, start: Optional[Time] = None, end: Optional[Time] = None) -> Statement:
        """What the circuits of a project booked, carried and missed."""
        return self.operations.statement(project, from_=start, to=end)

    def add_maintenance(
        self, maintenance: str, *, end: Time, reason: str, start: Optional[Time] = None, links: Sequence[str] = (), routers: Sequence[str] = (),
        left_bits_per_second: int = 0, dry_run: bool = False,
    ) -> Maintained:
        """Plan that links or routers are out, as an operator, and see which circuits have to leave them; those are moved at once.

        maintenance is an id of your own, such as a ticket's: the same again under it is answered as the first time.
        """
        body: AddMaintenanceRequest = {
            "by": self._by, "id": maintenance, "end": end, "reason": reason, "links": list(links), "routers": list(routers),
            "left_bits_per_second": left_bits_per_second, "dry_run": dry_run,
        }
        if start is not None:
            body["start"] = start
        return self.operations.add_maintenance(body)

    def list_maintenance(self, *, all: bool = False) -> List[Maintenance]:
        """What is planned or under way, the earliest first; with all also what is over or removed."""
        return self.operations.list_maintenance(all=all or None).get("maintenance", [])

    def maintenance(self, maintenance: str) -> Maintained:
        """One maintenance, and the circuits that it still hits."""
        answer = self.operations.list_maintenance(id=maintenance)
        one: Maintained = {"maintenance": answer["maintenance"][0]}
        if "hits" in answer:
            one["hits"] = answer["hits"]
        if "hits_omitted" in answer:
            one["hits_omitted"] = answer["hits_omitted"]
        return one

    def remove_maintenance(self, maintenance: str, note: str = "") -> Maintenance:
        """Give links their capacity back. Circuits stay where they moved."""
        return self.operations.remove_maintenance(maintenance, {"by": self._by, "note": note})["maintenance"]

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
