package routeragent_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/services/routeragent"
)

// Numbers in test names are those of the agent's gNMI checks (docs/reference/routeragent.md).

func TestCheck01Capabilities(t *testing.T) {
	x := newTarget(t)
	r, err := x.client.Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r.GetGNMIVersion() != "0.10.0" {
		t.Errorf("version %q", r.GetGNMIVersion())
	}
	for _, e := range []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF} {
		if !slices.Contains(r.GetSupportedEncodings(), e) {
			t.Errorf("encoding %s is missing", e)
		}
	}
	versions := map[string]string{}
	for _, m := range r.GetSupportedModels() {
		versions[m.GetName()] = m.GetVersion()
	}
	for _, name := range []string{"openconfig-interfaces", "openconfig-qos", "openconfig-network-instance", "openconfig-defined-sets", "te-qos-ext", "te-lsdb-ext"} {
		if versions[name] == "" {
			t.Errorf("model %s has no version; models: %v", name, versions)
		}
	}
}

func TestCheck02And03OnlyMutualTLSIsServed(t *testing.T) {
	x := newTarget(t)
	stranger := pki.New(t)
	cert, key := stranger.Issue(t, "operator")
	foreign, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	noCert, otherCA := x.clientTLS("operator"), x.clientTLS("operator")
	noCert.Certificates = nil
	otherCA.Certificates = []tls.Certificate{foreign}
	plain, err := grpc.NewClient("passthrough:///"+x.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	for name, conn := range map[string]*grpc.ClientConn{"plaintext": plain, "no certificate": x.dial(noCert), "a certificate of another CA": x.dial(otherCA)} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := gnmi.NewGNMIClient(conn).Capabilities(ctx, &gnmi.CapabilityRequest{})
		cancel()
		conn.Close()
		if err == nil {
			t.Errorf("%s was served", name)
		}
	}
	if c, err := net.Dial("tcp", x.addr); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

func TestCheck04ViewerMayNotWrite(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Roles = map[string]string{"watcher": routeragent.RoleViewer, "operator": routeragent.RoleOperator}
	x.start()
	before := x.router.Dump()
	conn := x.dial(x.clientTLS("watcher"))
	defer conn.Close()
	watcher := gnmi.NewGNMIClient(conn)
	_, err := watcher.Set(t.Context(), x.request("update / "+hntes("95")))
	wantCode(t, err, codes.PermissionDenied)
	if diff := cmp.Diff(before, x.router.Dump()); diff != "" {
		t.Errorf("kernel (-before +after):\n%s", diff)
	}
	if _, err := watcher.Get(t.Context(), &gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF}); err != nil {
		t.Errorf("a viewer may not read: %v", err)
	}
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Errorf("an operator may not write: %v", err)
	}
}

func TestChecksOfGet(t *testing.T) {
	x := newTarget(t)
	if err := x.set(x.request("update / " + hntes("95"))); err != nil {
		t.Fatal(err)
	}
	get := func(req *gnmi.GetRequest) (*gnmi.GetResponse, error) { return x.client.Get(t.Context(), req) }
	queueID := mustPath(t, "/qos/queues/queue[name=te-alpha]/config/queue-id")
	weight := mustPath(t, "/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]/inputs/input[id=te-alpha]/config/weight")

	t.Run("05 one notification per path, with a timestamp in nanoseconds", func(t *testing.T) {
		r, err := get(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{queueID, weight}})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.GetNotification()) != 2 {
			t.Fatalf("%d notifications, want 2", len(r.GetNotification()))
		}
		if got := string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal()); got != "1" {
			t.Errorf("queue-id %s, want 1", got)
		}
		if age := time.Since(time.Unix(0, r.GetNotification()[0].GetTimestamp())); age < 0 || age > time.Minute {
			t.Errorf("timestamp is %s ago", age)
		}
	})
	t.Run("06 absent, unimplemented and unknown paths have a code each", func(t *testing.T) {
		for path, want := range map[string]codes.Code{
			"/qos/queues/queue[name=none]/config/queue-id": codes.NotFound,
			"/qos/classifiers":        codes.NotFound,
			"/system/config/hostname": codes.Unimplemented,
			"/network-instances/network-instance[name=DEFAULT]/afts": codes.Unimplemented,
			"/network-instances/network-instance[name=DEFAULT]/protocols/protocol[identifier=OSPF][name=ospf]/ospfv2/areas/area[identifier=0.0.0.0]/lsdb": codes.Unimplemented,
			"/qos/nonsense":                 codes.InvalidArgument,
			"/qos/queues/queue[colour=red]": codes.InvalidArgument,
			"/qos/queues[name=x]":           codes.InvalidArgument,
		} {
			_, err := get(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{mustPath(t, path)}})
			if err == nil || codeOf(err) != want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
		}
	})
	t.Run("07 encodings: unset is JSON, bytes is refused", func(t *testing.T) {
		r, err := get(&gnmi.GetRequest{Path: []*gnmi.Path{weight}})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal()); got != "95" {
			t.Errorf("weight in JSON %q, want the number 95", got)
		}
		_, err = get(&gnmi.GetRequest{Encoding: gnmi.Encoding_BYTES, Path: []*gnmi.Path{weight}})
		wantCode(t, err, codes.Unimplemented)
	})
	t.Run("08 configuration and state are disjoint and together are all", func(t *testing.T) {
		leaves := func(kind gnmi.GetRequest_DataType) map[string]bool {
			r, err := get(&gnmi.GetRequest{Type: kind, Encoding: gnmi.Encoding_PROTO, Path: []*gnmi.Path{mustPath(t, "/qos/interfaces")}})
			if err != nil {
				t.Fatal(err)
			}
			out := map[string]bool{}
			for _, u := range r.GetNotification()[0].GetUpdate() {
				p := pathString(t, u.GetPath())
				if !isKeyPath(p) {
					out[p] = true
				}
			}
			return out
		}
		config, state, all := leaves(gnmi.GetRequest_CONFIG), leaves(gnmi.GetRequest_STATE), leaves(gnmi.GetRequest_ALL)
		if len(config) == 0 || len(state) == 0 {
			t.Fatalf("%d configuration and %d state leaves", len(config), len(state))
		}
		union := map[string]bool{}
		for p := range config {
			if state[p] {
				t.Errorf("%s is both", p)
			}
			union[p] = true
		}
		for p := range state {
			union[p] = true
		}
		if diff := cmp.Diff(union, all); diff != "" {
			t.Errorf("all (-union +all):\n%s", diff)
		}
	})
	t.Run("09 the root, lists without keys, and no wildcard in an answer", func(t *testing.T) {
		if _, err := get(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{{}}}); err != nil {
			t.Errorf("root: %v", err)
		}
		for _, path := range []string{"/qos/queues/queue", "/qos/queues/queue[name=*]", "/qos/queues/queue[name=*]/config/queue-id"} {
			r, err := get(&gnmi.GetRequest{Encoding: gnmi.Encoding_JSON_IETF, Path: []*gnmi.Path{mustPath(t, path)}})
			if err != nil {
				t.Fatal(err)
			}
			u := r.GetNotification()[0].GetUpdate()
			if len(u) != 2 {
				t.Errorf("%s: %d updates, want 2", path, len(u))
			}
			for _, one := range u {
				if p := pathString(t, one.GetPath()); strings.Contains(p, "*") || !strings.Contains(p, "[name=te-") {
					t.Errorf("%s answered with path %s", path, p)
				}
			}
		}
	})
	t.Run("10 JSON_IETF: 64-bit numbers are strings, the top name has its module", func(t *testing.T) {
		for path, want := range map[string]string{
			"/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]/inputs/input[id=te-alpha]/config": `"openconfig-qos:weight":"95"`,
			"/qos/scheduler-policies/scheduler-policy[name=te-2q]/schedulers/scheduler[sequence=1]":                                  `"te-qos-ext:priority-level":"MEDIUM_HIGH"`,
			"/interfaces/interface[name=ge-b]/state": `"openconfig-interfaces:counters":{`,
		} {
			got, err := x.get(gnmi.GetRequest_ALL, path)
			if err != nil || !strings.Contains(got, want) {
				t.Errorf("%s: %s (%v), want %s", path, got, err, want)
			}
		}
	})
	t.Run("11 and 12 target and origin", func(t *testing.T) {
		r, err := get(&gnmi.GetRequest{Prefix: &gnmi.Path{Target: "r1"}, Path: []*gnmi.Path{queueID}})
		if err != nil || r.GetNotification()[0].GetPrefix().GetTarget() != "r1" {
			t.Errorf("target is not echoed: %v %v", r, err)
		}
		if r, err = get(&gnmi.GetRequest{Path: []*gnmi.Path{queueID}}); err != nil || r.GetNotification()[0].GetPrefix() != nil {
			t.Errorf("a target nobody asked for: %v %v", r, err)
		}
		with := func(origin string) *gnmi.Path { return &gnmi.Path{Origin: origin, Elem: queueID.GetElem()} }
		_, err = get(&gnmi.GetRequest{Prefix: &gnmi.Path{Origin: "openconfig"}, Path: []*gnmi.Path{with("openconfig")}})
		wantCode(t, err, codes.InvalidArgument)
		_, err = get(&gnmi.GetRequest{Path: []*gnmi.Path{with("cli")}})
		wantCode(t, err, codes.InvalidArgument)
		_, err = get(&gnmi.GetRequest{Path: []*gnmi.Path{with("openconfig")}})
		wantCode(t, err, codes.OK)
	})
	t.Run("the answer to a whole Get is valid JSON of the model", func(t *testing.T) {
		got, err := x.get(gnmi.GetRequest_ALL, "/")
		if err != nil || !json.Valid([]byte(got)) {
			t.Fatalf("%v: %.200s", err, got)
		}
		judge(t, got)
	})
}
