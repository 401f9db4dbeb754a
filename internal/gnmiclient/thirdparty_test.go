package gnmiclient_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/thirdparty"
)

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// gnmi_target is gnxi's server, of gNMI 0.8: it checks the client's Capabilities, Get and Set against an
// independent implementation.
func TestAgainstGNXITarget(t *testing.T) {
	ca := pki.New(t)
	cert, key := ca.Issue(t, "target", "127.0.0.1")
	config := file(t, "config.json", `{"openconfig-system:system":{"config":{"hostname":"sw1","domain-name":"example.net"}}}`)
	address := thirdparty.Server(t, "bin/gnmi_target", func(host string, port int) []string {
		return []string{"-bind_address", host + ":" + strconv.Itoa(port), "-config", config, "-ca", ca.CA, "-cert", cert, "-key", key}
	})
	d := device.Device{Name: "sw1", Address: address}
	c := dial(t, d, ca.Client(t, "controller"))
	if err := c.Require(gnmiclient.Need{Module: "openconfig-interfaces", Version: "2.0.0"}, gnmiclient.Need{Module: "openconfig-system", Version: "0.1.0"}); err != nil {
		t.Error(err)
	}
	for need, want := range map[gnmiclient.Need]string{
		{Module: "openconfig-qos", Version: "2.0.0"}:        "does not offer",
		{Module: "openconfig-interfaces", Version: "3.0.0"}: "version 3.0.0 or newer",
	} {
		if err := c.Require(need); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", need, err, want)
		}
	}
	hostname := func() any {
		raw, err := c.GetJSON(t.Context(), gnmi.GetRequest_ALL, "/system/config")
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		for name, v := range doc {
			if strings.HasSuffix(name, "hostname") {
				return v
			}
		}
		return nil
	}
	if got := hostname(); got != "sw1" {
		t.Errorf("hostname %v, want sw1", got)
	}
	_, err := c.Set(t.Context(), &gnmi.SetRequest{Update: []*gnmi.Update{{
		Path: gnmiclient.MustPath("/system/config"), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`{"hostname":"sw2"}`)}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := hostname(); got != "sw2" {
		t.Errorf("hostname %v after Set, want sw2", got)
	}
	if _, err := c.Get(t.Context(), gnmi.GetRequest_ALL, "/system/nonsense"); status.Code(err) != codes.NotFound && status.Code(err) != codes.InvalidArgument {
		t.Errorf("an unknown path: %v", err)
	}
	if stranger, err := gnmiclient.Dial(t.Context(), d, pki.New(t).Client(t, "controller")); err == nil {
		stranger.Close()
		t.Error("connected to a server of another CA")
	}
}

// fake_server is openconfig/gnmi's: it streams, over mutual TLS, and has no Capabilities at all.
func TestAgainstFakeServer(t *testing.T) {
	ca := pki.New(t)
	cert, key := ca.Issue(t, "target", "127.0.0.1")
	config := file(t, "config.textproto", `
		target: "fake"
		client_type: GRPC_GNMI
		disable_eof: true
		values: {path: ["counters", "in-octets"] repeat: 3 timestamp: {timestamp: 10 delta_min: 1 delta_max: 1} uint_value: {value: 5 range: {minimum: 5 maximum: 100 delta_min: 1 delta_max: 1}}}
		values: {repeat: 1 timestamp: {timestamp: 100} sync: 1}`)
	address := thirdparty.Server(t, "bin/fake_server", func(_ string, port int) []string {
		return []string{"-config", config, "-text", "-port", strconv.Itoa(port), "-ca_crt", ca.CA, "-server_crt", cert, "-server_key", key}
	})
	c := dial(t, device.Device{Name: "fake", Address: address}, ca.Client(t, "controller"))
	if err := c.Require(gnmiclient.Need{Module: "openconfig-interfaces", Version: "1.0.0"}); err == nil {
		t.Error("a server without Capabilities is said to support a model")
	}
	list, err := gnmiclient.Sample(time.Second, "/interfaces")
	if err != nil {
		t.Fatal(err)
	}
	var counters []uint64
	done := errors.New("synchronized")
	err = c.Subscribe(t.Context(), list, func(r *gnmi.SubscribeResponse) error {
		for _, u := range r.GetUpdate().GetUpdate() {
			if v, ok := gnmiclient.Uint(u.GetVal()); ok {
				counters = append(counters, v)
			}
		}
		if r.GetSyncResponse() {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatalf("Subscribe ended with %v", err)
	}
	if len(counters) == 0 {
		t.Error("no counter came before sync_response")
	}
}
