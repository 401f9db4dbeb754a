"""What is raised where a call has no success."""

from __future__ import annotations

import json
from typing import Any, List, cast

from .reading import read
from .schemas import Offer, Refusal


class Problem(Exception):
    """An answer that is no success: problem details (RFC 9457)."""

    def __init__(self, status: int, details: dict[str, Any]) -> None:
        super().__init__(f"{details.get('code', status)}: {details.get('detail', 'no details')}")
        self.status = status
        self.code: str = details.get("code", "")
        self.field: str = details.get("field", "")
        self.refusal = cast(Refusal, read(details.get("refusal", {}), "Refusal"))


class Refused(Problem):
    """It is not granted as it was asked for; offers are terms that fit."""

    @property
    def offers(self) -> List[Offer]:
        return self.refusal.get("offers", [])


class Unavailable(Problem):
    """Nobody knows whether it was done, or (429) it was not, for now. The same request under the same id tells."""


class TimedOut(Exception):
    """A circuit was not in one of the states in time."""


def problem(status: int, raw: bytes) -> Problem:
    """The exception for an answer that is no success."""
    try:
        details = json.loads(raw)
    except ValueError:
        details = None
    if not isinstance(details, dict):
        details = {"detail": raw[:200].decode(errors="replace")}
    if status >= 500 or status == 429:
        return Unavailable(status, details)
    return (Refused if status in (403, 409, 412) else Problem)(status, details)


def refused(no: Refusal) -> Refused:
    """The exception for the refusal of a dry run, which is no error of HTTP."""
    return Refused(200, {"code": no["code"], "detail": no.get("reason", ""), "field": no.get("field", ""), "refusal": no})
