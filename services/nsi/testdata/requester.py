"""A requester of NSI made of other people's parts: zeep sends what the official WSDL says, lxml holds every answer and
callback against the official schemas.

    requester.py PROVIDER_URL SCHEMAS PROVIDER_NSA REQUESTER_NSA PORT
"""

import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lxml import etree
from zeep import Client, Settings, xsd
from zeep.exceptions import Fault
from zeep.plugins import HistoryPlugin

URL, SCHEMAS, PROVIDER, REQUESTER, PORT = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
NS = {
    "s": "http://schemas.xmlsoap.org/soap/envelope/",
    "t": "http://schemas.ogf.org/nsi/2013/12/connection/types",
    "h": "http://schemas.ogf.org/nsi/2013/12/framework/headers",
    "p": "http://schemas.ogf.org/nsi/2013/12/services/point2point",
}
STP = PROVIDER.rsplit(":", 1)[0] + ":topology:"

ALL = """<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema">
<xsd:import namespace="%(t)s" schemaLocation="ogf_nsi_connection_types_v2_0.xsd"/>
<xsd:import namespace="%(h)s" schemaLocation="ogf_nsi_framework_headers_v2_0.xsd"/>
<xsd:import namespace="%(p)s" schemaLocation="ogf_nsi_services_p2p_v2_0.xsd"/>
</xsd:schema>""" % NS
schema = etree.XMLSchema(etree.fromstring(ALL.encode(), base_url=str(SCHEMAS / "all.xsd")))

callbacks: list[tuple[str, str, etree._Element]] = []
arrived = threading.Condition()


def check(envelope: etree._Element) -> etree._Element:
    """The message of an envelope, after header and message were held against the schemas."""
    message = envelope.find("s:Body", NS)[0]
    for part in [*envelope.find("s:Header", NS), message]:
        if not part.tag.startswith("{%s}" % NS["s"]):
            schema.assertValid(etree.fromstring(etree.tostring(part)))
    return message


class Callbacks(BaseHTTPRequestHandler):
    refuse = 1  # the first one: it has to come again

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        with arrived:
            if Callbacks.refuse:
                Callbacks.refuse -= 1
                self.send_error(503)
                return
            envelope = etree.fromstring(raw)
            message = check(envelope)
            action = self.headers["SOAPAction"].strip('"').rsplit("/", 1)[1]
            name = etree.QName(message).localname
            assert action == name, (action, name)
            callbacks.append((envelope.findtext("s:Header/h:nsiHeader/correlationId", namespaces=NS), name, message))
            arrived.notify_all()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", PORT), Callbacks)
threading.Thread(target=server.serve_forever, daemon=True).start()
REPLY = f"http://127.0.0.1:{server.server_port}/nsi/callbacks"

history = HistoryPlugin()
client = Client(str(SCHEMAS / "ogf_nsi_connection_provider_v2_0.wsdl"), plugins=[history], settings=Settings(strict=True))
client.wsdl.types.add_document_by_url((SCHEMAS / "ogf_nsi_services_p2p_v2_0.xsd").resolve().as_uri())
binding = next(iter(client.wsdl.bindings))
service = client.create_service(binding, URL)


def header(correlation: str, reply: str | None = REPLY, nsa: str = PROVIDER) -> list:
    element = client.get_element("{%s}nsiHeader" % NS["h"])
    return [element(protocolVersion="application/vnd.ogf.nsi.cs.v2.provider+soap", correlationId=correlation, requesterNSA=REQUESTER,
                    providerNSA=nsa, **({"replyTo": reply} if reply else {}))]


def new_id() -> str:
    return "urn:uuid:" + str(uuid.uuid4())


def call(operation: str, correlation: str | None = None, reply: str | None = REPLY, **arguments: object):
    correlation = correlation or new_id()
    getattr(service, operation)(_soapheaders=header(correlation, reply), **arguments)
    return correlation, check(history.last_received["envelope"])


def told(correlation: str, *names: str) -> etree._Element:
    """The callback to a request."""
    deadline = time.monotonic() + 60
    with arrived:
        while True:
            for c, name, message in callbacks:
                if c == correlation and name in names:
                    return message
            assert arrived.wait(deadline - time.monotonic()), f"no {names} came; {[(c, n) for c, n, _ in callbacks]}"


def criteria(capacity: int, source: str, destination: str, **more: object):
    p2ps = client.get_element("{%s}p2ps" % NS["p"])
    body = p2ps(capacity=capacity, directionality="Bidirectional", sourceSTP=source, destSTP=destination, symmetricPath=True)
    return {"schedule": {}, "serviceType": "http://services.ogf.org/nsi/2013/12/descriptions/EVTS.A-GOLE",
            "_value_1": [xsd.AnyObject(p2ps, body)], "version": 1, **more}


def states(connection: str) -> tuple:
    _, answer = call("querySummarySync", reply=None, connectionId=[connection])
    (s,) = answer.iterfind("reservation/connectionStates")
    return s.findtext("reservationState"), s.findtext("provisionState"), s.findtext("lifecycleState"), int(s.findtext("dataPlaneStatus/version"))


def fault(operation: str, code: str, **arguments: object) -> None:
    reply = arguments.pop("reply", REPLY)
    nsa = arguments.pop("nsa", PROVIDER)
    correlation = arguments.pop("correlation", None) or new_id()
    try:
        getattr(service, operation)(_soapheaders=header(correlation, reply, nsa), **arguments)
    except Fault as f:
        exception = f.detail.find("t:serviceException", NS)
        check(history.last_received["envelope"])
        schema.assertValid(etree.fromstring(etree.tostring(exception)))
        assert exception.findtext("errorId") == code, etree.tostring(exception)
        return
    raise AssertionError(f"{operation} is not refused")


# An aggregator looks for its own id first: nothing there is an empty list.
_, nothing = call("querySummarySync", reply=None, globalReservationId=["urn:uuid:" + str(uuid.uuid4())])
assert nothing.find("reservation") is None, etree.tostring(nothing)

# Reserve with a range of VLANs: the provider takes one.
g = "urn:uuid:" + str(uuid.uuid4())
wish = criteria(1000, STP + "west?vlan=1780-1790", STP + "east?vlan=1785")
first, answer = call("reserve", globalReservationId=g, description="by zeep", criteria=wish)
connection = answer.findtext("connectionId")
confirmed = told(first, "reserveConfirmed", "reserveFailed")
assert etree.QName(confirmed).localname == "reserveConfirmed", etree.tostring(confirmed)
assert confirmed.findtext("criteria/p:p2ps/sourceSTP", namespaces=NS) == STP + "west?vlan=1780"
assert states(connection) == ("ReserveHeld", "Released", "Created", 0), states(connection)

# The same again is the same connection; another content under the same id is refused.
_, again = call("reserve", correlation=first, globalReservationId=g, description="by zeep", criteria=wish)
assert again.findtext("connectionId") == connection
fault("reserve", "00100", correlation=first, description="another", criteria=wish)

fault("provision", "00201", connectionId=connection)
for operation, confirm, want in [
    ("reserveCommit", "reserveCommitConfirmed", ("ReserveStart", "Released", "Created", 1)),
    ("provision", "provisionConfirmed", ("ReserveStart", "Provisioned", "Created", 1)),
    ("provision", "provisionConfirmed", ("ReserveStart", "Provisioned", "Created", 1)),
    ("release", "releaseConfirmed", ("ReserveStart", "Released", "Created", 1)),
]:
    c, _ = call(operation, connectionId=connection)
    told(c, confirm)
    assert states(connection) == want, (operation, states(connection))

# Modify: half the capacity, tried and given back, then done.
for last, confirm, version, capacity in [("reserveAbort", "reserveAbortConfirmed", 1, 1000), ("reserveCommit", "reserveCommitConfirmed", 2, 500)]:
    element = client.get_element("{%s}capacity" % NS["p"])
    c, _ = call("reserve", connectionId=connection, criteria={"_value_1": [xsd.AnyObject(element, 500)], "version": 2})
    held = told(c, "reserveConfirmed", "reserveFailed")
    assert etree.QName(held).localname == "reserveConfirmed", etree.tostring(held)
    c, _ = call(last, connectionId=connection)
    told(c, confirm)
    assert states(connection)[3] == version, states(connection)
    c, _ = call("querySummary", connectionId=[connection])
    summary = told(c, "querySummaryConfirmed")
    assert summary.findtext(".//p:p2ps/capacity", namespaces=NS) == str(capacity), etree.tostring(summary)

# What does not fit says which link lacks what; a VLAN that is taken, an STP that is not there, wrong words.
for code, wish in [
    ("00705", criteria(4900, STP + "west?vlan=1781", STP + "east?vlan=1781")),
    ("00704", criteria(100, STP + "west?vlan=1780", STP + "east?vlan=1781")),
    ("00701", criteria(100, STP + "nowhere", STP + "east")),
]:
    c, answer = call("reserve", criteria=wish)
    failed = told(c, "reserveFailed", "reserveConfirmed")
    assert failed.findtext("serviceException/errorId") == code, etree.tostring(failed)
    named = {v.get("type"): v.findtext("value") for v in failed.iterfind("serviceException/variables/variable")}
    assert code != "00705" or int(named["shortfallMbps"]) > 0 and named["link"], named
    c, _ = call("reserveAbort", connectionId=answer.findtext("connectionId"))
    told(c, "reserveAbortConfirmed")
    c, _ = call("terminate", connectionId=answer.findtext("connectionId"))
    told(c, "terminateConfirmed")
fault("reserve", "00102", nsa="urn:ogf:network:other.example:2026:nsa", criteria=wish)
fault("reserve", "00302", reply="http://127.0.0.1:1/elsewhere", criteria=wish)
fault("provision", "00203", connectionId="none")

c, _ = call("terminate", connectionId=connection)
told(c, "terminateConfirmed")
assert states(connection) == ("ReserveStart", "Released", "Terminated", 2), states(connection)
c, _ = call("queryRecursive", globalReservationId=[g])
assert told(c, "queryRecursiveConfirmed").findtext(".//connectionId") == connection

# Who polls gets the same answers.
_, answer = call("reserve", reply=None, criteria=criteria(100, STP + "west?vlan=1783", STP + "east?vlan=1783"))
polled = answer.findtext("connectionId")
deadline = time.monotonic() + 60
while states(polled)[0] != "ReserveHeld":
    assert time.monotonic() < deadline
    time.sleep(0.1)
_, answer = call("queryResultSync", reply=None, connectionId=polled)
(result,) = answer.iterfind("result/t:reserveConfirmed/connectionId", NS)
assert result.text == polled, etree.tostring(answer)
call("queryNotificationSync", reply=None, connectionId=polled)
call("terminate", reply=None, connectionId=polled)
while states(polled)[2] != "Terminated":
    assert time.monotonic() < deadline
    time.sleep(0.1)
print("all of it")
