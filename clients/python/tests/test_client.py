"""Run by services/circuits/python_test.go: in MILLRACE_URL is a service with a free network, in MILLRACE_TOKEN ann's token."""

from __future__ import annotations

import http.server
import json
import os
import re
import threading
import typing
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from millrace_circuits import Circuits, Problem, Refused, TimedOut, Unavailable, types
from millrace_circuits.client import _numbers

REPOSITORY = Path(__file__).parents[3]
URL = os.environ["MILLRACE_URL"]
GIGA = 1_000_000_000
NIGHT = datetime(2026, 11, 23, 22, tzinfo=timezone.utc)


def terms(gbit: int, **more: typing.Any) -> types.Terms:
    out: dict[str, typing.Any] = {
        "project": "astro", "from": "a", "to": "b", "rate_bits_per_second": gbit * GIGA, "start": NIGHT, "end": NIGHT + timedelta(hours=8), **more,
    }
    return typing.cast(types.Terms, out)


class Service(unittest.TestCase):
    """Against the real service."""

    def setUp(self) -> None:
        self.circuits = Circuits(URL)
        self.addCleanup(lambda: [self.circuits.release(c["id"]) for c in self.circuits.list(states=["STATE_SCHEDULED", "STATE_COMMITTED", "STATE_HELD"])])

    def test_a_circuit_is_booked_once_read_modified_and_released(self) -> None:
        self.assertNotIn("refusal", self.circuits.quote(terms(5)))
        one = self.circuits.request(terms(4), request_id="one")
        self.assertEqual(self.circuits.request(terms(4), request_id="one")["id"], one["id"])
        self.assertEqual((one["state"], one["slots"][0]["rate_bits_per_second"]), ("STATE_SCHEDULED", 4 * GIGA))
        more = self.circuits.modify(self.circuits.get(one["id"]), rate_bits_per_second=5 * GIGA, end=NIGHT + timedelta(hours=9))
        self.assertEqual(more["terms"]["end"], "2026-11-24T07:00:00Z")
        with self.assertRaises(Refused) as outdated:
            self.circuits.modify(one, rate_bits_per_second=GIGA)
        self.assertEqual((outdated.exception.status, outdated.exception.code), (412, "OUTDATED"))
        self.assertEqual(self.circuits.release(one["id"], "done")["state"], "STATE_CANCELLED")
        with self.assertRaises(TimedOut):
            self.circuits.wait(one["id"], "STATE_ACTIVE", seconds=60)

    def test_what_does_not_fit_comes_with_offers_that_do(self) -> None:
        self.circuits.request_all([terms(5), terms(5)])
        with self.assertRaises(Refused) as no:
            self.circuits.request(terms(1))
        self.assertEqual(no.exception.code, "CAPACITY")
        self.assertGreater(no.exception.refusal["blockers"][0]["shortfall_bits_per_second"], 0)
        self.assertEqual(self.circuits.request(no.exception.offers[0]["terms"])["state"], "STATE_SCHEDULED")

    def test_holds_and_lists(self) -> None:
        held = [self.circuits.request(terms(1), commit=False) for _ in range(3)]
        self.assertEqual([c["id"] for c in self.circuits.list(states=["STATE_HELD"], page_size=2)], [c["id"] for c in held])
        self.assertEqual(self.circuits.commit(held[0]["id"])["state"], "STATE_SCHEDULED")
        links = self.circuits.calendar()
        self.assertEqual(self.circuits.calendar(links[0]["link"]["link"], NIGHT, NIGHT + timedelta(hours=1))[0]["link"], links[0]["link"])

    def test_a_window_each_night_counts_against_the_quota(self) -> None:
        nights = self.circuits.request_all([terms(2)], repeat={"every": "EVERY_DAY", "times": 3, "time_zone": "Europe/Berlin"}, request_id="nights")
        self.assertEqual([c["slots"][0]["start"] for c in nights], [f"2026-11-{day}T22:00:00Z" for day in (23, 24, 25)])
        self.assertEqual([c["id"] for c in self.circuits.list(request_id="nights")], [c["id"] for c in nights])
        quota = self.circuits.quota("astro")
        self.assertEqual((quota["circuits"], quota["highest_bits_per_second"], quota["booked_gbit_hours"]), (3, 2 * GIGA, 48.0))

    def test_maintenance_says_whom_it_hits_and_keeps_others_off(self) -> None:
        noc, one = Circuits(URL, token=os.environ["MILLRACE_NOC_TOKEN"]), self.circuits.request(terms(4))
        links = [hop["link"] for hop in one["path"]]
        plan = {"links": links, "start": NIGHT, "end": NIGHT + timedelta(hours=1), "reason": "optics"}
        with self.assertRaises(Refused) as no:
            self.circuits.add_maintenance("CHG-1", **plan)
        self.assertEqual((no.exception.status, no.exception.code, no.exception.field), (403, "POLICY", "by"))
        dry = noc.add_maintenance("CHG-1", dry_run=True, **plan)
        self.assertEqual([(h["circuit"], h["fate"], h["rate_bits_per_second"]) for h in dry["hits"]], [(one["id"], "FATE_MOVES", 4 * GIGA)])
        self.assertEqual(noc.list_maintenance(), [])
        done = noc.add_maintenance("CHG-1", **plan)
        self.addCleanup(noc.remove_maintenance, "CHG-1")
        self.assertEqual(set(done["maintenance"]["links"]) & set(links), set(links))
        self.assertEqual([m["id"] for m in noc.list_maintenance()], ["CHG-1"])
        self.assertEqual(noc.maintenance("CHG-1")["maintenance"], done["maintenance"])
        with self.assertRaises(Refused) as full:
            self.circuits.request(terms(1, max_hops=1))
        self.assertIn("CHG-1", full.exception.refusal["blockers"][0]["maintenance"])
        self.assertEqual(noc.remove_maintenance("CHG-1", "done early")["removed_note"], "done early")
        self.assertEqual(([m["id"] for m in noc.list_maintenance()], [m["id"] for m in noc.list_maintenance(all=True)]), ([], ["CHG-1"]))
        with self.assertRaises(Problem) as none:
            noc.maintenance("CHG-2")
        self.assertEqual(none.exception.status, 404)

    def test_activation_by_hand_and_what_a_project_had(self) -> None:
        one = self.circuits.request(terms(1, activation="ACTIVATION_MANUAL"))
        self.assertTrue(one["deactivated"])
        self.assertNotIn("deactivated", self.circuits.activate(one["id"], "now"))
        self.assertTrue(self.circuits.deactivate(one["id"])["deactivated"])
        statement = self.circuits.statement("astro")
        self.assertEqual((statement["project"], statement["carried_unknown"]), ("astro", True))
        with self.assertRaises(Unavailable):  # there is no flow store here
            Circuits(URL, patience=0).usage(one["id"])

    def test_a_dry_run_books_and_changes_nothing(self) -> None:
        would = self.circuits.request_all([terms(5), terms(5)], dry_run=True)
        self.assertEqual([c["slots"][0]["rate_bits_per_second"] for c in would], [5 * GIGA] * 2)
        with self.assertRaises(Refused) as no:
            self.circuits.request_all([terms(5)] * 3, dry_run=True)
        self.assertEqual((no.exception.code, no.exception.field), ("CAPACITY", "terms[2]"))
        self.assertEqual(list(self.circuits.list(states=["STATE_SCHEDULED"])), [])
        one = self.circuits.request(terms(4))
        more = self.circuits.modify(one, rate_bits_per_second=5 * GIGA, dry_run=True)
        self.assertEqual(more["slots"][0]["rate_bits_per_second"], 5 * GIGA)
        with self.assertRaises(Refused) as much:
            self.circuits.modify(one, rate_bits_per_second=50 * GIGA, dry_run=True)
        self.assertEqual(much.exception.code, "CAPACITY")
        self.assertEqual(self.circuits.get(one["id"]), one)

    def test_who_has_no_token_is_let_in_nowhere(self) -> None:
        for token in "", "mrt_stale":
            with self.assertRaises(Problem) as no:
                Circuits(URL, by="ann", token=token).request(terms(1))
            self.assertEqual((no.exception.status, no.exception.code), (401, "UNAUTHENTICATED"))
        one = Circuits(URL, by="noc").request(terms(1))
        self.assertEqual(one["holder"], "ann")  # by her token, whatever is said

    def test_a_token_is_read_as_it_stands_in_a_file_and_shown_nowhere(self) -> None:
        self.assertEqual(list(Circuits(URL, token=os.environ["MILLRACE_TOKEN"] + "\n").list(states=["STATE_ACTIVE"])), [])
        with self.assertRaises(ValueError) as wrong:
            Circuits(URL, token="mrt_a\nmrt_b")
        self.assertNotIn("mrt_a", str(wrong.exception))

    def test_another_replica_is_asked_where_one_is_away(self) -> None:
        circuits = Circuits(["http://127.0.0.1:9", URL], patience=0)
        self.assertEqual(list(circuits.list(states=["STATE_ACTIVE"])), [])
        with self.assertRaises(Unavailable) as why:  # there is no flow store here
            circuits.usage(circuits.request(terms(1))["id"])
        self.assertEqual(why.exception.status, 503)

    def test_errors_are_problems(self) -> None:
        with self.assertRaises(Problem) as wrong:
            self.circuits.request(terms(1, to="nowhere"))
        self.assertEqual((wrong.exception.status, wrong.exception.field), (400, "to"))
        with self.assertRaises(Problem) as missing:
            self.circuits.get("a/../b")
        self.assertEqual(missing.exception.status, 404)
        with self.assertRaises(ValueError):
            self.circuits.quote(terms(1, start=datetime(2026, 11, 23)))


class Lost(unittest.TestCase):
    """Against a service that loses answers."""

    def test_a_request_whose_answer_is_lost_is_sent_again_under_its_id(self) -> None:
        asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request_id"])
                if len(asked) == 1:
                    self.close_connection = True
                    return
                body = json.dumps({"code": "UNAVAILABLE"} if len(asked) == 2 else {"circuit": {"id": "c", "version": "3"}}).encode()
                self.send_response(503 if len(asked) == 2 else 201)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            self.assertEqual(Circuits(url, by="ann").request(terms(1)), {"id": "c", "version": 3})
            server.shutdown()
        self.assertEqual((len(asked), len(set(asked))), (3, 1))
        with self.assertRaises(Unavailable):
            Circuits(url, by="ann", patience=0).get("c")


class Elsewhere(unittest.TestCase):
    """Against what is no control plane."""

    def test_the_token_is_shown_to_nobody_else(self) -> None:
        asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(302)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with self.assertRaises(Problem) as moved:
                Circuits(f"http://127.0.0.1:{server.server_port}").get("c")
            server.shutdown()
        self.assertEqual((moved.exception.status, asked), (302, ["/v1/circuits/c"]))


class Calls(unittest.TestCase):
    """Every call of the service is one of the client."""

    def test_every_operation_is_called(self) -> None:
        document = json.loads((REPOSITORY / "docs/reference/circuits-openapi.json").read_text())
        offered = {(method.upper(), path) for path, of in document["paths"].items() for method in of}
        called: set[tuple[str, str]] = set()
        one = {"id": "c", "version": 3, "state": "STATE_ACTIVE"}

        class Client(Circuits):
            def _once(self, method: str, path: str, body: typing.Any, headers: dict[str, str]) -> dict[str, typing.Any]:
                plain = path.partition("?")[0]
                called.update((m, p) for m, p in offered if m == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", p), plain))
                return {"circuit": one, "circuits": [one], "links": [], "maintenance": [{}] if method == "GET" else {}}

        client = Client("http://nowhere", by="ann")
        client.quote(terms(1)), client.request(terms(1)), client.request_all([terms(1)]), client.get("c"), list(client.list())
        client.commit("c"), client.extend("c", NIGHT), client.release("c"), client.activate("c"), client.deactivate("c")
        client.modify(typing.cast(types.Circuit, one), rate_bits_per_second=1), client.reoptimise("c")
        client.calendar(), client.quota("p"), client.proposals("p"), client.usage("c"), client.statement("p")
        client.add_maintenance("m", end=NIGHT, reason="x", routers=["b"]), client.list_maintenance(), client.remove_maintenance("m")
        self.assertEqual(offered - called, set(), "the client has no call for them")

    def test_what_is_not_offered_over_http_is_known(self) -> None:
        document = json.loads((REPOSITORY / "docs/reference/circuits-openapi.json").read_text())
        offered = {operation["operationId"] for of in document["paths"].values() for operation in of.values()}
        service = (REPOSITORY / "proto/millrace/circuits/v1/circuits.proto").read_text()
        self.assertEqual(set(re.findall(r"^  rpc (\w+)\(", service, re.MULTILINE)) - offered, {"Watch"}, "a stream, of Connect and gRPC only")


class Types(unittest.TestCase):
    def test_the_types_are_those_of_the_document(self) -> None:
        document = json.loads((REPOSITORY / "docs/reference/circuits-openapi.json").read_text())
        names = {
            "QuoteResponse": "Quote", "QuotaResponse": "Quota", "ReoptimiseResponse": "Reoptimised", "UsageResponse": "Usage",
            "StatementResponse": "Statement", "AddMaintenanceResponse": "Maintained",
        }
        for name, schema in document["components"]["schemas"].items():
            if name.endswith("Request") or name.endswith("Response") and name not in names or name == "Problem":
                continue
            if "properties" not in schema:
                continue
            keys = typing.get_type_hints(getattr(types, names.get(name, name)))
            self.assertEqual(set(keys), set(schema["properties"]), name)
            for key, hint in keys.items():
                listed = schema["properties"][key].get("type") == "array"
                self.assertEqual(typing.get_origin(hint) is list, listed, f"{name}.{key}")
                integer = "integer" in schema["properties"][key].get("type", [])
                self.assertEqual(hint is int, integer, f"{name}.{key}")
                if integer and "string" in schema["properties"][key]["type"]:
                    self.assertEqual(_numbers({"field": "", key: "7"})[key], 7, f"{name}.{key}")


if __name__ == "__main__":
    unittest.main()
