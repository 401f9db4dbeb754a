"""Gives requests that are right by the schema what only this test's network knows: without its names nothing is booked.

Every fourth keeps what was made up for it. Nothing here is random, so that the same seed asks the same.
"""

import json
import zlib

import schemathesis

ROUTERS = ["a", "b", "c"]


def known(terms, n):
    """Terms between two routers in the night after the test's noon, of at most 1 Gbit/s."""
    start = n % 8
    terms.update(
        project="astro" if n % 16 else "bio",
        start=f"2026-11-23T{14 + start:02}:00:00Z",
        end=f"2026-11-24T{start:02}:{n % 60:02}:00Z",
        rate_bits_per_second=str(1 + n % 1_000_000_000),
        volume_bytes="0",
        pairs=[{"source": f"10.{n % 200}.0.0/24", "destination": f"10.{n % 200}.1.0/24"}],
        without_routers=[], without_links=[], apart_from=[], exclude_risk_groups=[n % 5], max_sids=n % 4,
        protection="PROTECTION_UNSPECIFIED", max_delay_microseconds="0",
    )
    terms["from"], terms["to"] = ROUTERS[n % 3], ROUTERS[(n + 1) % 3]


@schemathesis.hook
def map_case(context, case):
    right = case.meta is not None and case.meta.generation.mode.is_positive
    if not right or not isinstance(case.body, dict):
        return case
    n = zlib.crc32(json.dumps(case.body, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))
    if n % 4 == 0:
        return case
    if "by" in case.body:
        case.body["by"] = "ann"
    if "request_id" in case.body or "commit" in case.body:
        case.body["request_id"] = f"r{n}"
    terms = case.body.get("terms")
    for i, one in enumerate(terms if isinstance(terms, list) else [terms]):
        if isinstance(one, dict):
            known(one, n + i)
    return case
