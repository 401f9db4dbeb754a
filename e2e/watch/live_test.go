package watch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/pki"
	"github.com/millrace/millrace/internal/testkit/ports"
	"github.com/millrace/millrace/internal/testkit/program"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/proto/gen/millrace/alpha/v1/alphav1connect"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// TestQueriesOnALivePrometheus runs every query of every board and rule on a real Prometheus that scrapes a live
// control plane: flows come from a router whose agent does not answer, and a nightly run has judged them. Each must
// return series, unless excused has the reason why not, and what is excused must return none: else its reason is gone.
func TestQueriesOnALivePrometheus(t *testing.T) {
	plane := startPlane(t)
	prometheus := startPrometheus(t, plane.web)
	stop := make(chan struct{})
	sent := make(chan struct{})
	go func() { plane.export(stop); close(sent) }()
	defer func() { close(stop); <-sent }()
	nightlyRuns := alphav1connect.NewAlphaServiceClient(http.DefaultClient, "http://"+plane.web)
	program.Until(t, "a nightly run has judged flows", func() (bool, any) { // the first ones find none yet
		if _, err := nightlyRuns.Nightly(t.Context(), connect.NewRequest(&alphav1.NightlyRequest{})); err != nil {
			return false, err
		}
		n, err := prometheus.ask("millrace:nightly_run_age:seconds")
		return n > 0, err
	})
	queries := boardQueries(t)
	for _, r := range rules(t) {
		if r.Record != "" {
			queries = append(queries, query{"rule", r.Record, r.Expr})
			continue
		}
		if _, err := prometheus.ask(r.Expr); err != nil { // that an alert has no series is its purpose
			t.Errorf("alert %s: %v", r.Alert, err)
		}
	}
	var wanted []query
	for _, q := range queries {
		why := excuse(q.expr)
		if why != "" {
			if n, err := prometheus.ask(q.expr); n > 0 || err != nil {
				t.Errorf("%s is excused (%s) and returns %d series, %v: %s", q, why, n, err, q.expr)
			}
			continue
		}
		wanted = append(wanted, q)
	}
	program.Until(t, "all queries return series", func() (bool, any) {
		wanted = slices.DeleteFunc(wanted, func(q query) bool {
			n, err := prometheus.ask(q.expr)
			if err != nil {
				t.Fatalf("%s: %v: %s", q, err, q.expr)
			}
			return n > 0
		})
		return len(wanted) == 0, wanted
	})
}

// excused are what queries ask for that this control plane does not have, and why.
var excused = []struct{ metric, why string }{
	{"millrace_services_routeragent_", "no router: agents need a kernel's namespace of their own, as in the lab"},
	{"millrace_services_vpn_flow_", "no VPN flows: they need PEs"},
	{"millrace_services_vpn_fairness_ratio", "no VPN flows"},
	{"millrace_services_vpn_jain_ratio", "no VPN flows"},
	{"sum(millrace_services_vpn_pe_connected)", "no PEs"},
	{"millrace_services_push_commits_total", "no router gets a commit"},
	{"millrace_services_push_readings_total", "no router is read"},
	{"sum(millrace_services_push_drift)", "no router is read"},
	{"millrace:change_set_", "no change set has ended"},
	{"millrace_services_push_change_set_seconds", "no change set has ended"},
	{"millrace:circuits_on_time:", "no circuit has begun"},
	{"millrace_services_circuits_starts_total", "no circuit has begun"},
	{"millrace_services_circuits_requests_total", "nobody requests a circuit"},
	{"millrace:topology_age:", "no router shows a topology"},
	{"millrace_services_paths_topology_timestamp_seconds", "no router shows a topology"},
	{"millrace_services_dashboard_refused_requests_total", "nothing is refused"},
	{"millrace_collectors_flow_drops_total[", "nothing is dropped"},
	{"millrace_internal_bus_redelivered_total", "no handler fails"},
}

func excuse(expr string) string {
	if strings.Contains(expr, "or vector(0)") { // has a value without the metric
		return ""
	}
	for _, e := range excused {
		if strings.Contains(expr, e.metric) {
			return e.why
		}
	}
	return ""
}

// controlPlane is `millrace up`.
type controlPlane struct{ web, flows string }

func startPlane(t *testing.T) controlPlane {
	t.Helper()
	folder := t.TempDir()
	p := controlPlane{web: ports.Loopback(t), flows: ports.Loopback(t)}
	authority := pki.New(t)
	cert, key := authority.Issue(t, "millrace")
	write(t, folder, "inventory.yaml", fmt.Sprintf(
		"tls: {ca: %q, cert: %q, key: %q}\ndevices:\n  - {name: r1, address: %q, loopback: 192.0.2.1, exporters: [127.0.0.1]}\n", authority.CA, cert, key, ports.Loopback(t)))
	write(t, folder, "millrace.yaml", fmt.Sprintf("data_dir: %s/data\ninventory: inventory.yaml\ndashboard: {listen: %q}\nidentity: {mode: off}\nflow: {listen: [%q]}\n", folder, p.web, p.flows))
	up := program.Start(t, folder, "up", program.Path, "up", "--config", filepath.Join(folder, "millrace.yaml"))
	t.Cleanup(func() { up.Signal(t, syscall.SIGTERM) })
	up.WaitReady(t, "http://"+p.web)
	return p
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// export sends a NetFlow v5 record ten times a second until stop.
func (p controlPlane) export(stop <-chan struct{}) {
	c, err := net.Dial("udp", p.flows)
	if err != nil {
		return // the queries then find nothing
	}
	defer c.Close()
	boot := time.Now().Add(-time.Hour)
	for sequence := uint32(0); ; sequence++ {
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
			_, _ = c.Write(record(boot, sequence)) // one that is lost is followed by another
		}
	}
}

// record is a NetFlow v5 datagram of one flow (Cisco's format, version 5).
func record(boot time.Time, sequence uint32) []byte {
	be, now := binary.BigEndian, time.Now()
	up := uint32(now.Sub(boot).Milliseconds())
	b := be.AppendUint16(nil, 5)
	b = be.AppendUint16(b, 1)
	b = be.AppendUint32(b, up)
	b = be.AppendUint32(b, uint32(now.Unix()))
	b = be.AppendUint32(b, uint32(now.Nanosecond()))
	b = be.AppendUint32(b, sequence)
	b = be.AppendUint32(b, 1<<14|1) // engine 0, one packet in one
	b = append(b, netip.MustParseAddr("10.1.0.5").AsSlice()...)
	b = append(b, netip.MustParseAddr("10.2.0.9").AsSlice()...)
	b = append(b, 0, 0, 0, 0, 0, 3, 0, 4) // next hop, interfaces
	b = be.AppendUint32(b, 10)
	b = be.AppendUint32(b, 15000)
	b = be.AppendUint32(b, up-2000)
	b = be.AppendUint32(b, up-1000)
	b = append(b, 0x9c, 0x40, 0x13, 0x89, 0, 0x1b, 6, 0)
	return append(b, 0, 0, 0, 0, 24, 24, 0, 0)
}

// server is a Prometheus.
type server struct{ url string }

func startPrometheus(t *testing.T, target string) server {
	t.Helper()
	folder := t.TempDir()
	listen := ports.Loopback(t)
	var files []string
	for _, f := range ruleFiles(t) {
		absolute, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, absolute)
	}
	slices.Sort(files)
	list, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "prometheus.yml", fmt.Sprintf(
		"global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: %s\nscrape_configs:\n  - {job_name: millrace, static_configs: [{targets: [%q]}]}\n", list, target))
	p := program.Start(t, folder, "prometheus", "prometheus", "--config.file="+filepath.Join(folder, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+listen)
	t.Cleanup(func() { p.Signal(t, syscall.SIGTERM) })
	program.Until(t, "Prometheus is ready", func() (bool, any) {
		r, err := http.Get("http://" + listen + "/-/ready")
		if err != nil {
			return false, err
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK, r.Status
	})
	return server{"http://" + listen}
}

// ask returns how many series a query has now. One that is no number, such as a quantile of nothing, is none.
func (s server) ask(expr string) (series int, err error) {
	r, err := http.PostForm(s.url+"/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any } // time and value of an instant vector
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("decode Prometheus' answer: %w", err)
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("Prometheus: %s", answer.Error) //nolint:staticcheck // a name
	}
	for _, one := range answer.Data.Result {
		if one.Value[1] != "NaN" {
			series++
		}
	}
	return series, nil
}
