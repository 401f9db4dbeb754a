package doctor

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/pki"
)

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name string
		got  Finding
		want Level
	}{
		{"a kernel of today", Kernel("6.18.44-fc"), OK},
		{"the oldest", Kernel("5.10.0-30-amd64"), OK},
		{"one before", Kernel("5.9.16"), Wrong},
		{"4.19", Kernel("4.19.0"), Wrong},
		{"no Linux", Kernel("rolling"), Warning},
		{"a clock that NTP keeps", Clock(true, 300*time.Microsecond), OK},
		{"one that nothing keeps", Clock(false, 0), Warning},
		{"one that is off", Clock(true, -1100*time.Millisecond), Wrong},
		{"another's clock", Apart("clock", "a", time.Unix(1001, 0), time.Unix(1000, 0), time.Second), OK},
		{"another's clock that is off", Apart("clock", "a", time.Unix(1000, 0), time.Unix(1010, 0), time.Second), Warning},
		{"room", Space("/x", 50<<30, 100<<30), OK},
		{"little", Space("/x", 9<<30, 100<<30), Warning},
		{"none", Space("/x", 1<<30, 100<<30), Wrong},
		{"no file system", Space("/x", 0, 0), Wrong},
		{"the same version", Versions("a", "1", "1"), OK},
		{"another", Versions("a", "1", "2"), Warning},
		{"an answer", Answered("stores", "etcd", nil, "x", ""), OK},
		{"none of it", Answered("stores", "etcd", errors.New("refused"), "x", ""), Wrong},
		{"all features", Features(nil)[0], OK},
		{"not all", Features([]string{"mpls is not supported"})[0], Warning},
	} {
		if c.got.Level != c.want || (c.got.Level == OK) != (c.got.Do == "") || c.got.What == "" {
			t.Errorf("%s: %+v, want %s, and a remedy where something is to be done", c.name, c.got, c.want)
		}
	}
}

func TestCertificates(t *testing.T) {
	ours, theirs := pki.New(t), pki.New(t)
	now := time.Now()
	issue := func(from, until time.Duration) *x509.Certificate {
		t.Helper()
		file, _ := ours.IssueBetween(t, now.Add(from), now.Add(until), pkix.Name{CommonName: "WR"})
		return load(t, file)
	}
	day := 24 * time.Hour
	for _, c := range []struct {
		name  string
		cert  *x509.Certificate
		pool  *x509.CertPool
		level Level
		what  string
	}{
		{"one for a year", issue(-time.Hour, 365*day), ours.Pool(), OK, "valid for"},
		{"one of another CA", issue(-time.Hour, 365*day), theirs.Pool(), Wrong, "not trusted"},
		{"of any CA", issue(-time.Hour, 365*day), nil, OK, "valid for"},
		{"one for a week", issue(-time.Hour, 7*day), ours.Pool(), Warning, "expires in"},
		{"one of yesterday", issue(-2*day, -day), ours.Pool(), Wrong, "has expired 24 hours ago"},
		{"one of tomorrow", issue(day, 3*day), ours.Pool(), Wrong, "is valid in"},
	} {
		got := Certificate("tls.crt", c.cert, c.pool, now)
		if got.Level != c.level || !strings.Contains(got.What, c.what) {
			t.Errorf("%s: %+v, want %s and %q", c.name, got, c.level, c.what)
		}
	}
}

const broken = `
# TYPE millrace_internal_monitor_dependency_ready gauge
millrace_internal_monitor_dependency_ready{dependency="etcd"} 0
millrace_internal_monitor_dependency_ready{dependency="bus"} 1
# TYPE millrace_services_policy_broken_files gauge
millrace_services_policy_broken_files 3
# TYPE millrace_services_circuits_share_cut_ratio gauge
millrace_services_circuits_share_cut_ratio 0.3
# TYPE millrace_internal_mtls_not_after_timestamp_seconds gauge
millrace_internal_mtls_not_after_timestamp_seconds{use="inventory"} 999
millrace_internal_mtls_not_after_timestamp_seconds{use="tls"} 1e5
# TYPE millrace_internal_state_etcd_bytes gauge
millrace_internal_state_etcd_bytes{what="file"} 90
millrace_internal_state_etcd_bytes{what="quota"} 100
# TYPE millrace_collectors_topology_reachable gauge
millrace_collectors_topology_reachable{device="WR"} 0
millrace_collectors_topology_reachable{device="ER"} 1
# TYPE millrace_collectors_flow_records_total counter
millrace_collectors_flow_records_total{exporter="192.0.2.1",domain="0",source="a"} 9989
# TYPE millrace_collectors_flow_lost gauge
millrace_collectors_flow_lost{exporter="192.0.2.1",domain="0",source="a"} 11
# TYPE millrace_collectors_flow_drops_total counter
millrace_collectors_flow_drops_total{exporter="",domain="",source="",reason="unlisted"} 7
`

func TestJudge(t *testing.T) {
	all, err := ReadMetrics(strings.NewReader(broken))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range Judge(all, time.Unix(1000, 0)) {
		got = append(got, string(f.Level)+" "+f.Area+" "+f.Subject+": "+f.What)
	}
	want := []string{
		"wrong certificates inventory: the one for inventory has expired",
		"warning certificates tls: the one for tls expires within 14 days",
		"warning stores file: etcd has more than 80 % of its quota",
		"wrong control plane etcd: etcd does not do its work",
		"warning control plane : 3 files of policy.dir have errors, or a name that another one has; the next start will fail",
		"warning control plane : circuits may use less of each link than circuits.share or circuits.hard_share says: the policy guarantees no more",
		"wrong routers WR: WR does not answer",
		"warning exporters : 7 datagrams came from addresses that no device of the inventory has",
		"warning exporters 192.0.2.1: of 192.0.2.1 more than 0.1 % is missing by its sequence numbers",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	healthy := strings.NewReplacer("} 0\n", "} 1\n", "} 999\n", "} 9e9\n", "} 1e5\n", "} 9e9\n", "} 90\n", "} 10\n", "ratio 0.3\n", "ratio 0\n", "files 3\n", "files 0\n", "} 11\n", "} 9\n", "} 7\n", "} 0\n").Replace(broken)
	if all, err = ReadMetrics(strings.NewReader(healthy)); err != nil {
		t.Fatal(err)
	}
	for _, f := range Judge(all, time.Unix(1000, 0)) {
		if f.Level != OK {
			t.Errorf("of a healthy control plane: %+v", f)
		}
	}
}

// Each rule is about a metric that there is, and names a page that there is.
func TestRulesAreOfWhatThereIs(t *testing.T) {
	metrics, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if !strings.Contains(string(metrics), "`"+r.metric+"`") {
			t.Errorf("%s is no metric", r.metric)
		}
		if _, err := os.Stat(filepath.Join("../../docs/runbooks", r.runbook+".md")); r.runbook != "" && err != nil {
			t.Error(err)
		}
		if r.Level == OK || r.do == "" {
			t.Errorf("%s has no remedy", r.metric)
		}
	}
}

func load(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := pem.Decode(raw)
	c, err := x509.ParseCertificate(b.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
