package routeragent_test

import (
	"encoding/json"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/thirdparty"
	"github.com/millrace/millrace/services/routeragent"
)

// Clients of other people judge the agent here: what they cannot read is wrong,
// whatever our own client makes of it. tools/clients pins them.

// outside is a target with the files that a program needs to speak to it.
type outside struct {
	*target
	cert, key string
}

func newOutside(t *testing.T) *outside {
	x := loaded(t)
	cert, key := x.pki.Issue(t, "operator")
	return &outside{x, cert, key}
}

// run runs a program to its end; ok reports whether it was content.
func run(t *testing.T, name string, args ...string) (output string, ok bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	return string(out), err == nil
}

func (x *outside) cli(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	return run(t, thirdparty.Tool(t, "bin/gnmi_cli"), append(x.cliFlags(), args...)...)
}

func (x *outside) cliFlags() []string {
	return []string{"-address", x.addr, "-ca_crt", x.pki.CA, "-client_crt", x.cert, "-client_key", x.key, "-server_name", "127.0.0.1", "-timeout", await.Patience.String()}
}

const textQueue = `path: {elem: {name: "qos"} elem: {name: "queues"} elem: {name: "queue" key: {key: "name" value: "te-alpha"}} elem: {name: "config"} elem: {name: "queue-id"}}`

func TestGNMICLI(t *testing.T) {
	x := newOutside(t)
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"capabilities", []string{"-capabilities"}, []string{`gNMI_version:`, `0.10.0`, `openconfig-qos`, `te-qos-ext`, `JSON_IETF`}},
		{"get", []string{"-get", "-proto", textQueue + ` encoding: JSON_IETF`}, []string{`json_ietf_val:`, `"1"`}},
		{"get with a prefix and a target", []string{"-get", "-proto", `prefix: {target: "r1" elem: {name: "qos"}} path: {elem: {name: "queues"}} type: CONFIG`}, []string{`target:`, `r1`, `te-beta`}},
		{"set", []string{"-set", "-proto", `update: {` + textQueue + ` val: {uint_val: 3}}`}, []string{`op:`, `UPDATE`, `timestamp:`}},
		{"set with union_replace of nothing else", []string{"-set", "-proto", `union_replace: {path: {elem: {name: "qos"} elem: {name: "queues"}} val: {json_ietf_val: "{\"queue\":[{\"name\":\"te-alpha\",\"config\":{\"name\":\"te-alpha\",\"queue-id\":3}}]}"}}`},
			[]string{`UNION_REPLACE`}},
		{"once", []string{"-query", "/qos/queues", "-query_type", "once"}, []string{"te-alpha", "queue-id", "3"}},
		{"polling", []string{"-query", "/qos/queues", "-query_type", "polling", "-polling_interval", "100ms", "-count", "2"}, []string{"te-alpha"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, ok := x.cli(t, c.args...)
			if !ok {
				t.Fatalf("gnmi_cli failed: %s", out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in:\n%s", want, out)
				}
			}
		})
	}
	t.Run("streaming", func(t *testing.T) { x.cliStreams(t) })
}

// cliStreams leaves a stream open and changes what it is about.
func (x *outside) cliStreams(t *testing.T) {
	out := &thirdparty.Output{}
	cmd := exec.Command(thirdparty.Tool(t, "bin/gnmi_cli"), append(x.cliFlags(), "-query", "/qos/queues", "-query_type", "streaming", "-display_type", "single")...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	await.True(t, "gnmi_cli shows what is there", func() bool { return strings.Contains(out.String(), "te-alpha") })
	x.must(t, "update /qos/queues/queue[name=cli]/config/queue-id 77")
	await.True(t, "gnmi_cli shows the change", func() bool { return strings.Contains(out.String(), "77") })
}

// Requests that no well-meaning library sends, written by hand.
func TestGNMICLIBadRequests(t *testing.T) {
	x := newOutside(t)
	config, before := x.config("/"), x.dump()
	queue := func(key, leaf string) string {
		return `elem: {name: "qos"} elem: {name: "queues"} elem: {name: "queue" ` + key + `} elem: {name: "config"} elem: {name: "` + leaf + `"}`
	}
	const alpha = `key: {key: "name" value: "te-alpha"}`
	for _, c := range []struct{ kind, proto, want string }{
		{"-get", `path: {elem: {name: "qos"} elem: {name: "nonsense"}}`, "InvalidArgument"},
		{"-get", `path: {elem: {name: "system"}}`, "Unimplemented"},
		{"-get", `path: {elem: {name: "interfaces"} elem: {name: "interface" key: {key: "name" value: "none"}}}`, "NotFound"},
		{"-get", `path: {elem: {name: ""}}`, "InvalidArgument"},
		{"-get", `path: {element: "qos"}`, "InvalidArgument"},
		{"-get", `path: {origin: "cli"}`, "InvalidArgument"},
		{"-get", `prefix: {origin: "openconfig"} path: {origin: "openconfig" elem: {name: "qos"}}`, "InvalidArgument"},
		{"-get", `encoding: BYTES path: {elem: {name: "qos"}}`, "Unimplemented"},
		{"-get", `use_models: {name: "openconfig-bgp"}`, "InvalidArgument"},
		{"-get", `extension: {history: {snapshot_time: 5}}`, "Unimplemented"},
		{"-set", `delete: {elem: {name: "qos"} elem: {name: "queues"} elem: {name: "queue" ` + alpha + `} elem: {name: "state"}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue("", "queue-id") + `} val: {uint_val: 1}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue(alpha, "queue-id") + `} val: {ascii_val: "1"}}`, "Unimplemented"},
		{"-set", `update: {path: {` + queue(alpha, "queue-id") + `} val: {json_val: "null"}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue(alpha, "queue-id") + `} val: {json_ietf_val: "1 2"}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue(alpha, "queue-id") + `} val: {uint_val: 256}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue(alpha, "queue-id") + `} val: {string_val: "one"}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue(alpha, "name") + `} val: {string_val: "other"}}`, "InvalidArgument"},
		{"-set", `update: {path: {` + queue(alpha, "queue-id") + `}}`, "InvalidArgument"},
		{"-set", `update: {path: {elem: {name: "qos"} elem: {name: "nonsense"}} val: {uint_val: 1}}`, "NotFound"},
		{"-set", `replace: {path: {elem: {name: "qos"} elem: {name: "queues"} elem: {name: "queue" ` + alpha + `}} val: {json_ietf_val: "{}"}}`, "InvalidArgument"},
		{"-set", `union_replace: {path: {} val: {json_ietf_val: "{}"}} delete: {}`, "InvalidArgument"},
		{"-set", `extension: {commit: {commit: {}}}`, "InvalidArgument"},
		{"-set", `extension: {commit: {id: "a" confirm: {}}}`, "FailedPrecondition"},
		{"-set", `extension: {commit: {id: "a" commit: {rollback_duration: {seconds: -1}}}}`, "InvalidArgument"},
		{"-set", `extension: {master_arbitration: {}}`, "InvalidArgument"},
		{"-set", `extension: {registered_ext: {id: EID_EXPERIMENTAL}}`, "Unimplemented"},
	} {
		out, ok := x.cli(t, c.kind, "-proto", c.proto)
		if ok || !strings.Contains(out, "code = "+c.want) {
			t.Errorf("%s %s: want %s, got:\n%s", c.kind, c.proto, c.want, out)
		}
	}
	if diff := cmp.Diff(config+before, x.config("/")+x.dump()); diff != "" {
		t.Errorf("bad requests changed something (-before +after):\n%s", diff)
	}
}

func TestGNXITools(t *testing.T) {
	x := newOutside(t)
	gnxi := func(name string, args ...string) (string, bool) {
		flags := []string{"-target_addr", x.addr, "-target_name", "127.0.0.1", "-ca", x.pki.CA, "-cert", x.cert, "-key", x.key}
		return run(t, thirdparty.Tool(t, "bin/"+name), append(flags, args...)...)
	}
	if out, ok := gnxi("gnmi_capabilities"); !ok || !strings.Contains(out, "openconfig-network-instance") || !strings.Contains(out, "0.10.0") {
		t.Errorf("gnmi_capabilities:\n%s", out)
	}
	if out, ok := gnxi("gnmi_set", "-update", "/qos/queues/queue[name=gnxi]/config/queue-id:5", "-replace", "/qos/queues/queue[name=te-beta]/config/queue-id:4"); !ok {
		t.Errorf("gnmi_set:\n%s", out)
	}
	if got := x.config("/qos/queues/queue[name=gnxi]/config/queue-id") + x.config("/qos/queues/queue[name=te-beta]/config/queue-id"); got != "54" {
		t.Errorf("after gnmi_set the queues have ids %s, want 5 and 4", got)
	}
	if out, ok := gnxi("gnmi_get", "-xpath", "/qos/queues/queue[name=gnxi]/config/queue-id", "-xpath", "/interfaces/interface[name=ge-a]/state/oper-status"); !ok || !strings.Contains(out, "UP") || !strings.Contains(out, "5") {
		t.Errorf("gnmi_get:\n%s", out)
	}
	if out, ok := gnxi("gnmi_set", "-delete", "/qos/queues/queue[name=gnxi]"); !ok || x.config("/qos/queues/queue[name=gnxi]") != "" {
		t.Errorf("gnmi_set -delete:\n%s", out)
	}
	for args, want := range map[[2]string]string{
		{"gnmi_get", "-xpath=/qos/nonsense"}:                                     "InvalidArgument",
		{"gnmi_get", "-xpath=/qos/queues/queue[name=gnxi]"}:                      "NotFound",
		{"gnmi_set", "-update=/qos/queues/queue[name=gnxi]/config/queue-id:256"}: "InvalidArgument",
		{"gnmi_set", "-update=/qos/queues/queue[name=gnxi]/config/nonsense:5"}:   "NotFound",
		{"gnmi_set", "-update=/interfaces/interface[name=ge-a]/state/mtu:1400"}:  "InvalidArgument",
	} {
		if out, ok := gnxi(args[0], args[1]); ok || !strings.Contains(out, want) {
			t.Errorf("%s: want %s, got:\n%s", args, want, out)
		}
	}
}

// TestGNMICLibrary: gnmic's own requests, and its reading of the answers. Its commit requests a rollback after 0 s,
// which is the default; one is cancelled (the queue keeps 7), one confirmed.
func TestGNMICLibrary(t *testing.T) {
	x := newOutside(t)
	out, ok := run(t, thirdparty.Tool(t, "bin/gnmic_check"), x.addr, x.pki.CA, x.cert, x.key)
	var got map[string]any
	if !ok || json.Unmarshal([]byte(out), &got) != nil {
		t.Fatalf("gnmic_check:\n%s", out)
	}
	if models, _ := got["models"].(float64); models < 3 {
		t.Errorf("models: %v", got["models"])
	}
	delete(got, "models")
	want := map[string]any{
		"version": "0.10.0", "set": []any{"REPLACE", "UPDATE"}, "get": 7.0, "oper-status": "UP", "cancelled": 7.0, "confirmed": 9.0,
		"once": 2.0, "samples": 3.0, "delete": []any{"DELETE"},
		"absent": "NotFound", "unknown": "InvalidArgument", "unimplemented": "Unimplemented", "range": "InvalidArgument",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what gnmic's library got (-want +got):\n%s", diff)
	}
	if got, err := x.get(gnmi.GetRequest_CONFIG, "/qos/queues/queue[name=te-alpha]/config/queue-id"); err != nil || got != "1" {
		t.Errorf("what it did not touch is %s, %v", got, err)
	}
}

func TestPyGNMI(t *testing.T) {
	python := thirdparty.Tool(t, "python/bin/python")
	x := newOutside(t)
	x.stop()
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"py": routeragent.RoleOperator})
	x.start()
	host, port, err := net.SplitHostPort(x.addr)
	if err != nil {
		t.Fatal(err)
	}
	for name, credentials := range map[string][]string{"by certificate": nil, "by password": {"py", "right-py"}} {
		t.Run(name, func(t *testing.T) {
			check := exec.CommandContext(t.Context(), python, append([]string{"../../tools/clients/pygnmi_check.py", host, port, x.pki.CA, x.cert, x.key}, credentials...)...)
			var complaints strings.Builder
			check.Stderr = &complaints // its threads complain about a stream that was closed, also amid the answer
			out, err := check.Output()
			var got map[string]any
			if err != nil || json.Unmarshal(out, &got) != nil {
				t.Fatalf("pygnmi: %v\n%s\n%s", err, out, complaints.String())
			}
			want := map[string]any{
				"version": "0.10.0", "set": []any{"REPLACE", "UPDATE"}, "notifications": 2.0, "oper-status": "UP",
				"queue":       map[string]any{"openconfig-qos:name": "py", "openconfig-qos:config": map[string]any{"name": "py", "queue-id": 7.0}},
				"config only": 1.0, "once": 2.0, "samples": 3.0, "delete": []any{"DELETE"},
				"absent": "NOT_FOUND", "unknown": "INVALID_ARGUMENT", "unimplemented": "UNIMPLEMENTED", "range": "INVALID_ARGUMENT", "wrong password": "UNAUTHENTICATED",
			}
			for _, long := range []string{"models", "encodings"} {
				if list, ok := got[long].([]any); !ok || len(list) < 3 {
					t.Errorf("%s: %v", long, got[long])
				}
				delete(got, long)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what pygnmi got (-want +got):\n%s", diff)
			}
		})
	}
	if got, err := x.get(gnmi.GetRequest_CONFIG, "/qos/queues/queue[name=te-alpha]/config/queue-id"); err != nil || got != "1" {
		t.Errorf("what pygnmi did not touch is %s, %v", got, err)
	}
}
