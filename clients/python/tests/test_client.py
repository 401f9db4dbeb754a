"""Run by services/circuits/python_test.go: in MILLRACE_URL is a service with a free network, in MILLRACE_TOKEN ann's token."""

from __future__ import annotations

import http.server
import inspect
import json
import os
import re
import threading
import typing
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from millrace_circuits import Circuits, Problem, Refused, TimedOut, Unavailable, types
from millrace_circuits.operations import Operations
from millrace_circuits.reading import read

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
        newest = self.circuits.list(states=["STATE_HELD"], page_size=2, newest_first=True)
        self.assertEqual([c["id"] for c in newest], [c["id"] for c in reversed(held)])
        self.assertEqual(self.circuits.commit(held[0]["id"])["state"], "STATE_SCHEDULED")
        links = self.circuits.calendar()
        self.assertEqual(self.circuits.calendar(links[0]["link"]["link"], NIGHT, NIGHT + timedelta(hours=1))[0]["link"], links[0]["link"])

    def test_a_window_each_night_counts_against_the_quota(self) -> None:
        nights = self.circuits.request_all([terms(2)], repeat={"every": "EVERY_DAY", "times": 3, "time_zone": "Europe/Berlin"}, request_id="nights")
        self.assertEqual([c["slots"][0]["start"] for c in nights], [f"2026-11-{day}T22:00:00Z" for day in (23, 24, 25)])
        self.assertEqual([c["id"] for c in self.circuits.list(request_id="nights")], [c["id"] for c in nights])
        quota = self.circuits.quota("astro")
        self.assertEqual((quota["circuits"], quota["highest_bits_per_second"], quota["booked_gbit_hours"]), (3, 2 * GIGA, 48.0))

    def test_a_volume_over_two_paths_says_which_ports_are_whose(self) -> None:
        pair = {"source": "192.0.2.5/32", "destination": "198.51.100.9/32", "protocol": "tcp", "destination_ports": "5000-5009"}
        minute: dict[str, typing.Any] = {"rate_bits_per_second": 0, "volume_bytes": 45 * GIGA, "end": NIGHT + timedelta(minutes=1), "pairs": [pair]}
        with self.assertRaises(Refused) as no:
            self.circuits.request(terms(0, **minute))
        self.assertEqual(no.exception.code, "CAPACITY")
        parts = self.circuits.request_all([terms(0, **minute)], max_paths=2, request_id="spread")
        self.assertEqual([c["terms"]["volume_bytes"] for c in parts], [37_500_000_000, 7_500_000_000])
        self.assertEqual([c["terms"]["pairs"][0]["destination_ports"] for c in parts], ["5000-5007", "5008-5009"])
        self.assertEqual([c["id"] for c in self.circuits.list(request_id="spread")], [c["id"] for c in parts])

    def test_maintenance_says_whom_it_hits_and_keeps_others_off(self) -> None:
        noc, one = Circuits(URL, token=os.environ["MILLRACE_NOC_TOKEN"]), self.circuits.request(terms(4))
        links = [hop["link"] for hop in one["path"]]
        plan: dict[str, typing.Any] = {"links": links, "start": NIGHT, "end": NIGHT + timedelta(hours=1), "reason": "optics"}
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

    def test_operations_are_those_of_the_document(self) -> None:
        held = self.circuits.operations.request({"by": "ann", "terms": terms(1)})["circuit"]
        self.assertEqual((held["state"], held["slots"][0]["rate_bits_per_second"]), ("STATE_HELD", GIGA))
        one = self.circuits.operations.modify(held["id"], {"by": "ann", "rate_bits_per_second": 2 * GIGA}, if_match='"1"')["circuit"]
        self.assertEqual((one["version"], one["slots"][0]["rate_bits_per_second"]), (2, 2 * GIGA))
        with self.assertRaises(Refused) as outdated:
            self.circuits.operations.modify(held["id"], {"by": "ann", "rate_bits_per_second": GIGA}, if_match='"1"')
        self.assertEqual(outdated.exception.status, 412)
        listed = self.circuits.operations.list(states=["STATE_HELD"], start=NIGHT, page_size=1)
        self.assertEqual(listed["circuits"], [one])

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

    def answers(self, call: typing.Callable[[str], typing.Any], asked: list[typing.Any]) -> typing.Any:
        """What a call answers where the first answer is lost, and the second is a 503."""

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append((body.get("request_id"), self.headers["Idempotency-Key"]))
                if len(asked) == 1:
                    self.close_connection = True
                    return
                answer = json.dumps({"code": "UNAVAILABLE"} if len(asked) == 2 else {"circuit": {"id": "c", "version": "3"}}).encode()
                self.send_response(503 if len(asked) == 2 else 201)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                return call(f"http://127.0.0.1:{server.server_port}")
            finally:
                server.shutdown()

    def test_a_request_whose_answer_is_lost_is_sent_again_under_its_id(self) -> None:
        asked: list[typing.Any] = []
        answer = self.answers(lambda url: Circuits(url, by="ann").request(terms(1)), asked)
        self.assertEqual(answer, {"id": "c", "version": 3})
        self.assertEqual((len(asked), len({body for body, _ in asked})), (3, 1))
        with self.assertRaises(Unavailable):
            Circuits("http://127.0.0.1:9", by="ann", patience=0).get("c")

    def test_an_operation_that_takes_an_id_is_sent_again_under_one(self) -> None:
        for given in None, "k":
            asked: list[typing.Any] = []
            self.answers(lambda url: Circuits(url).operations.request({"by": "ann", "terms": terms(1)}, idempotency_key=given), asked)
            keys = {key for _, key in asked}
            self.assertEqual((len(asked), len(keys)), (3, 1))
            self.assertEqual(keys == {"k"}, given == "k")
            self.assertNotIn(None, keys)


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

            def log_message(self, format: str, *args: object) -> None:
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with self.assertRaises(Problem) as moved:
                Circuits(f"http://127.0.0.1:{server.server_port}").get("c")
            server.shutdown()
        self.assertEqual((moved.exception.status, asked), (302, ["/v1/circuits/c"]))


DOCUMENT = json.loads((REPOSITORY / "docs/reference/circuits-openapi.json").read_text())


class Recorder:
    """A transport that keeps what is called, and answers with one circuit."""

    def __init__(self) -> None:
        self.called: list[tuple[str, str, dict[str, typing.Any]]] = []

    def __call__(self, method: str, path: str, **more: typing.Any) -> typing.Any:
        self.called.append((method, path, more))
        one = {"id": "c", "version": 3, "state": "STATE_ACTIVE"}
        return {"circuit": one, "circuits": [one], "links": [], "maintenance": [{}] if method == "GET" else {}}


class Calls(unittest.TestCase):
    """Every call of the service is one of the client."""

    def test_every_operation_has_a_method(self) -> None:
        wanted = {
            re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation["operationId"]).lower(): (method.upper(), path, operation)
            for path, of in DOCUMENT["paths"].items() for method, operation in of.items()
        }
        methods = {name: f for name, f in inspect.getmembers(Operations, inspect.isfunction) if not name.startswith("_")}
        self.assertEqual(set(methods), set(wanted))
        for name, (method, path, operation) in wanted.items():
            recorder = Recorder()
            parameters = [p for p in inspect.signature(methods[name]).parameters if p != "self"]
            getattr(Operations(recorder), name)(**{p: "a/b" for p in parameters})
            [(called, at, more)] = recorder.called
            self.assertEqual((called, at), (method, re.sub(r"{\w+}", "a%2Fb", path)), name)
            for place, argument in ("query", "query"), ("header", "headers"):
                named = {p["name"]: "a/b" for p in operation.get("parameters", []) if p["in"] == place}
                self.assertEqual(more.get(argument, {}), named, f"{name}: {place}")
            self.assertEqual(more.get("body") == "a/b", "requestBody" in operation, name)
            [answer] = [r["content"]["application/json"]["schema"]["$ref"] for r in operation["responses"].values() if "application/json" in r["content"]]
            self.assertEqual(more["answer"], answer.rpartition("/")[2], name)
            self.assertTrue(methods[name].__doc__, name)

    def test_every_operation_is_called(self) -> None:
        offered = {(method.upper(), path) for path, of in DOCUMENT["paths"].items() for method in of}
        one, client, recorder = typing.cast(types.Circuit, {"id": "c", "version": 3}), Circuits("http://nowhere", by="ann"), Recorder()
        client.operations = Operations(recorder)
        client.quote(terms(1)), client.request(terms(1)), client.request_all([terms(1)]), client.get("c"), list(client.list())
        client.commit("c"), client.extend("c", NIGHT), client.release("c"), client.activate("c"), client.deactivate("c")
        client.modify(one, rate_bits_per_second=1), client.reoptimise("c")
        client.calendar(), client.quota("p"), client.proposals("p"), client.usage("c"), client.statement("p")
        client.add_maintenance("m", end=NIGHT, reason="x", routers=["b"]), client.list_maintenance(), client.remove_maintenance("m")
        called = {(m, p) for m, p in offered for by, at, _ in recorder.called if m == by and re.fullmatch(re.sub(r"{\w+}", "[^/]+", p), at)}
        self.assertEqual(offered - called, set(), "the client has no call for them")

    def test_what_is_not_offered_over_http_is_known(self) -> None:
        offered = {operation["operationId"] for of in DOCUMENT["paths"].values() for operation in of.values()}
        service = (REPOSITORY / "proto/millrace/circuits/v1/circuits.proto").read_text()
        self.assertEqual(set(re.findall(r"^  rpc (\w+)\(", service, re.MULTILINE)) - offered, {"Watch"}, "a stream, of Connect and gRPC only")


class Types(unittest.TestCase):
    def test_the_types_are_those_of_the_document(self) -> None:
        for name, schema in DOCUMENT["components"]["schemas"].items():
            kind = getattr(types, name)
            keys = typing.get_type_hints(kind)
            self.assertEqual(set(keys), set(schema["properties"]), name)
            self.assertEqual(kind.__required_keys__, set(schema.get("required", [])), name)
            for key, hint in keys.items():
                said = schema["properties"][key]
                self.assertEqual(typing.get_origin(hint) is list, said.get("type") == "array", f"{name}.{key}")
                self.assertEqual(hint is int, "integer" in said.get("type", []), f"{name}.{key}")
                self.assertEqual(typing.get_origin(hint) is typing.Literal, "enum" in said, f"{name}.{key}")
                long = "string" in said.get("type", []) and "integer" in said["type"]
                self.assertEqual(read({key: "7"}, name)[key], 7 if long else "7", f"{name}.{key}")

    def test_numbers_are_read_at_every_depth(self) -> None:
        answer = {"circuits": [{"id": "7", "version": "7", "slots": [{"rate_bits_per_second": "5"}], "later": "7"}], "next_page_token": "7"}
        self.assertEqual(read(answer, "ListResponse"), {
            "circuits": [{"id": "7", "version": 7, "slots": [{"rate_bits_per_second": 5}], "later": "7"}], "next_page_token": "7",
        })


if __name__ == "__main__":
    unittest.main()
