#!/usr/bin/env python3
"""Carry so many bytes by a deadline over a circuit of their own.

    MILLRACE_TOKEN=... transfer.py --url http://127.0.0.1:8080 --project astro --from pe1 --to pe2 \
        --terabytes 20 --deadline 2026-11-24T06:00:00Z -- rsync -a /data/run7/ archive:/data/run7/

It books the volume, waits until the circuit is active, runs the command, and releases the circuit. The exit code is the
command's; 3 where the volume does not fit: then it prints what would.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from millrace_circuits import Circuits, Refused, TimedOut


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Carry so many bytes by a deadline over a circuit of their own.")
    parser.add_argument("--url", required=True, action="append", help="of the control plane; once for each replica")
    parser.add_argument("--by", default="", help="who asks, where there are no logins")
    parser.add_argument("--ca", help="file of the CA that signed its certificate")
    for name in ("project", "from", "to", "deadline"):
        parser.add_argument(f"--{name}", required=True, dest=name if name != "from" else "source")
    parser.add_argument("--terabytes", required=True, type=float)
    parser.add_argument("--wait", type=float, default=86_400, help="seconds to wait until the circuit is active")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    circuits = Circuits(args.url, args.by, ca=args.ca)
    try:
        circuit = circuits.request({
            "project": args.project, "from": args.source, "to": args.to,
            "volume_bytes": int(args.terabytes * 1e12), "end": args.deadline, "description": " ".join(args.command)[:500],
        })
    except Refused as no:
        print(no, file=sys.stderr)
        for offer in no.offers:
            print(f"{offer['kind']} fits: {offer['terms']}", file=sys.stderr)
        return 3
    slot = circuit["slots"][0]
    print(f"circuit {circuit['id']}: from {slot['start']} at {slot['rate_bits_per_second'] / 1e9:g} Gbit/s", flush=True)
    try:
        circuits.wait(circuit["id"], "STATE_ACTIVE", seconds=args.wait)
        return subprocess.run(args.command, check=False).returncode
    except TimedOut as late:
        print(late, file=sys.stderr)
        return 1
    finally:
        circuits.release(circuit["id"], note="the transfer has ended")


if __name__ == "__main__":
    sys.exit(main())
