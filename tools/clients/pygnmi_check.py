"""What pygnmi gets from a router agent, as one JSON object.

In: host, port, CA, certificate, key, and optionally user and password.
Out: on standard output, the answers and, for what is refused, the gRPC code.
Next: services/routeragent/clients_test.go compares them.
"""

import json
import logging
import sys

import grpc
from pygnmi.client import gNMIclient

logging.disable(logging.CRITICAL)
host, port, ca, cert, key = sys.argv[1:6]
user, password = (sys.argv[6:8] + ["", ""])[:2]
out = {}


def client(u=user, p=password):
    return gNMIclient(target=(host, port), username=u, password=p, path_root=ca, path_cert=cert, path_key=key, gnmi_timeout=20)


def code_of(call):
    """Runs a call and tells its gRPC code; pygnmi wraps some errors and passes others on."""
    try:
        call()
        return "OK"
    except Exception as err:  # noqa: BLE001
        seen = err
        while seen is not None:
            if isinstance(seen, grpc.RpcError):
                return seen.code().name
            if isinstance(getattr(seen, "orig_exc", None), grpc.RpcError):
                return seen.orig_exc.code().name
            seen = seen.__cause__ or seen.__context__
        return repr(err)


QUEUE = "openconfig:/qos/queues/queue[name=py]"

with client() as c:
    caps = c.capabilities()
    out["version"] = caps["gnmi_version"]
    out["encodings"] = caps["supported_encodings"]
    out["models"] = sorted(m["name"] for m in caps["supported_models"])
    out["set"] = [
        r["op"]
        for r in c.set(
            replace=[(QUEUE, {"name": "py", "config": {"name": "py", "queue-id": 6}})],
            update=[(QUEUE + "/config", {"queue-id": 7})],
            encoding="json_ietf",
        )["response"]
    ]
    got = c.get(path=[QUEUE, "/interfaces/interface[name=ge-a]/state/oper-status"], encoding="json_ietf")
    out["notifications"] = len(got["notification"])
    out["queue"] = got["notification"][0]["update"][0]["val"]
    out["oper-status"] = got["notification"][1]["update"][0]["val"]
    out["config only"] = len(c.get(path=["/qos/interfaces"], datatype="config", encoding="json_ietf")["notification"][0]["update"])
    once = c.subscribe2(
        subscribe={"subscription": [{"path": "/qos/queues/queue[name=py]/config", "mode": "sample"}], "mode": "once", "encoding": "json_ietf"}
    )
    out["once"] = sum(len(m["update"]["update"]) for m in once if "update" in m)
    stream = c.subscribe2(
        subscribe={
            "subscription": [{"path": "/interfaces/interface[name=ge-a]/state/ifindex", "mode": "sample", "sample_interval": 200_000_000}],
            "mode": "stream",
            "encoding": "json_ietf",
        }
    )
    samples, synced = 0, False
    for m in stream:
        synced = synced or bool(m.get("sync_response"))
        samples += 1 if synced and "update" in m else 0
        if samples == 3:
            break
    out["samples"] = samples
    stream.close()
    out["delete"] = [r["op"] for r in c.set(delete=[QUEUE])["response"]]
    out["absent"] = code_of(lambda: c.get(path=[QUEUE], encoding="json_ietf"))
    out["unknown"] = code_of(lambda: c.get(path=["/qos/nonsense"], encoding="json_ietf"))
    out["unimplemented"] = code_of(lambda: c.get(path=["/system/config/hostname"], encoding="json_ietf"))
    out["range"] = code_of(lambda: c.set(update=[(QUEUE + "/config", {"queue-id": 999})], encoding="json_ietf"))

out["wrong password"] = code_of(lambda: client("nobody", "wrong").connect())

print(json.dumps(out))
