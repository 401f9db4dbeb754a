"""What the service takes and answers, as in docs/reference/circuits-openapi.json."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict, Union

# RFC 3339 text, or, in what is sent, a datetime with a zone.
Time = Union[str, datetime]


class PrefixPair(TypedDict, total=False):
    source: str
    destination: str
    protocol: str
    source_ports: str
    destination_ports: str


class Port(TypedDict, total=False):
    name: str
    vlans: str


Terms = TypedDict(
    "Terms",
    {
        "project": str,
        "from": str,
        "to": str,
        "rate_bits_per_second": int,
        "volume_bytes": int,
        "start": Time,
        "end": Time,
        "max_delay_microseconds": int,
        "protection": str,
        "activation": str,
        "without_links": list[str],
        "without_routers": list[str],
        "apart_from": list[str],
        "pairs": list[PrefixPair],
        "description": str,
        "from_port": Port,
        "to_port": Port,
        "excess": str,
        "on_failure": str,
        "priority": int,
        "setup_priority": int,
        "scavenger": bool,
        "above_soft_cap": bool,
        "metric": str,
        "include_any": list[int],
        "include_all": list[int],
        "exclude": list[int],
        "via": list[str],
        "max_hops": int,
        "exclude_risk_groups": list[int],
        "max_sids": int,
    },
    total=False,
)


class PathTerms(TypedDict, total=False):
    max_delay_microseconds: int
    without_links: list[str]
    without_routers: list[str]
    apart_from: list[str]
    metric: str
    include_any: list[int]
    include_all: list[int]
    exclude: list[int]
    via: list[str]
    max_hops: int
    exclude_risk_groups: list[int]
    max_sids: int


class Repeat(TypedDict, total=False):
    every: str
    times: int
    time_zone: str


class Slot(TypedDict, total=False):
    start: str
    end: str
    rate_bits_per_second: int


Hop = TypedDict("Hop", {"link": str, "from": str, "to": str}, total=False)


class Transition(TypedDict, total=False):
    state: str
    time: str
    by: str
    note: str


class Circuit(TypedDict, total=False):
    id: str
    terms: Terms
    state: str
    slots: list[Slot]
    path: list[Hop]
    backup: list[Hop]
    holder: str
    created: str
    expires: str
    history: list[Transition]
    request_id: str
    ready: str
    late: bool
    deactivated: bool
    version: int
    back: list[Hop]
    from_vlan: int
    to_vlan: int
    number: int
    not_restored: Refusal
    preempted: Preemption
    displaced: list[Displaced]
    unmoved: Unmoved


class Unmoved(TypedDict, total=False):
    maintenance: str
    refusal: Refusal


Preemption = TypedDict("Preemption", {"circuit": str, "setup_priority": int, "from": str, "refusal": "Refusal"}, total=False)


class Displaced(TypedDict, total=False):
    circuit: str
    project: str
    priority: int
    rate_bits_per_second: int
    path: list[Hop]
    preempted_from: str


class Blocker(TypedDict, total=False):
    link: str
    start: str
    end: str
    shortfall_bits_per_second: int
    router: str
    port: str
    vlan: int
    circuit: str
    maintenance: list[str]
    reservable_bits_per_second: int


class Offer(TypedDict, total=False):
    kind: str
    change_per_mille: int
    terms: Terms


class Relaxation(TypedDict, total=False):
    risk_groups: list[int]
    field: str
    by: int
    links: list[str]
    routers: list[str]


class Refusal(TypedDict, total=False):
    code: str
    field: str
    reason: str
    blockers: list[Blocker]
    blockers_omitted: int
    offers: list[Offer]
    given_up: list[str]
    relaxations: list[Relaxation]


class Quote(TypedDict, total=False):
    slots: list[Slot]
    path: list[Hop]
    backup: list[Hop]
    refusal: Refusal
    back: list[Hop]
    from_vlan: int
    to_vlan: int
    would_displace: list[Displaced]


class RouterPair(TypedDict, total=False):
    a: str
    z: str


class Quota(TypedDict, total=False):
    project: str
    limit_bits_per_second: int
    highest_bits_per_second: int
    limit_gbit_hours: float
    booked_gbit_hours: float
    limit_holds: int
    held: int
    limit_lead_seconds: int
    first_priority: int
    first_setup_priority: int
    between: list[RouterPair]
    circuits: int


class Proposal(TypedDict, total=False):
    pair: str
    terms: Terms
    problem: str
    last_alpha: str
    days: int


class PathMove(TypedDict, total=False):
    circuit: str
    path: list[Hop]
    better_path: list[Hop]
    igp_before: int
    igp_gain: int
    hops_gain: int
    delay_gain_microseconds: int
    freed_bits_per_second: int
    done: bool
    error: str
    metric: str
    metric_before: int
    metric_gain: int


class Reoptimised(TypedDict, total=False):
    moves: list[PathMove]
    left: int


class FreePiece(TypedDict, total=False):
    start: str
    end: str
    free_bits_per_second: int


class LinkCalendar(TypedDict, total=False):
    link: Hop
    reservable_bits_per_second: int
    least_free_bits_per_second: int
    pieces: list[FreePiece]
    circuits: list[str]
    maintenance: list[str]
    hard_bits_per_second: int


class Maintenance(TypedDict, total=False):
    id: str
    start: str
    end: str
    links: list[str]
    routers: list[str]
    left_bits_per_second: int
    by: str
    reason: str
    created: str
    removed: str
    removed_by: str
    removed_note: str


MaintenanceHit = TypedDict(
    "MaintenanceHit",
    {
        "circuit": str,
        "project": str,
        "from": str,
        "to": str,
        "state": str,
        "priority": int,
        "rate_bits_per_second": int,
        "links": list[str],
        "fate": str,
        "path": list[Hop],
        "refusal": "Refusal",
    },
    total=False,
)


class Maintained(TypedDict, total=False):
    maintenance: Maintenance
    hits: list[MaintenanceHit]
    hits_omitted: int


class UsagePoint(TypedDict, total=False):
    time: str
    in_profile_octets: int
    in_profile_packets: int
    excess_octets: int
    excess_packets: int
    return_octets: int
    return_packets: int


class StatementLine(TypedDict, total=False):
    circuit: str
    description: str
    booked_gbit_hours: float
    carried_octets: int
    excess_octets: int
    active_seconds: int
    interrupted_seconds: int
    late_starts: int
    incomplete: bool
    carried_unknown: bool


class Usage(TypedDict, total=False):
    id: str
    step_seconds: int
    points: list[UsagePoint]
    total: UsagePoint
    carried_unknown: bool
    between_ports: bool


Statement = TypedDict(
    "Statement",
    {"project": str, "from": str, "to": str, "circuits": list[StatementLine], "total": StatementLine, "carried_unknown": bool},
    total=False,
)
