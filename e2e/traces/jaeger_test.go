//go:build jaeger

package traces

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/transfers"
	"github.com/millrace/millrace/internal/testkit/tworouters"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// jaegerConfig is Jaeger 2, which is an OpenTelemetry collector with a store of traces behind it.
const jaegerConfig = `
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {receivers: [otlp], processors: [batch], exporters: [jaeger_storage_exporter]}
  telemetry: {metrics: {level: none}}
extensions:
  jaeger_query: {storage: {traces: memory}, http: {endpoint: "%[1]s:16686"}, grpc: {endpoint: "%[1]s:16685"}}
  jaeger_storage: {backends: {memory: {memory: {max_traces: 100000}}}}
receivers: {otlp: {protocols: {http: {endpoint: "%[1]s:4318"}}}}
processors: {batch: }
exporters: {jaeger_storage_exporter: {trace_storage: memory}}
`

const traced = `tracing: {endpoint: "http://%[1]s:4318", ratio: 1, flow_ratio: 1}
flow: {listen: ["%[1]s:2055"], exporters: {accept_unlisted: true}}
alpha: {nightly_at: "", rule: {ipv4_length: 32}, window: 2m, overlap: 5m}`

// The traces that an operator looks at, in the store where he looks: a datagram to its rows, a nightly run to the
// request of its change set, and an approval to each router's commit. `make jaeger` runs it.
func TestJaegerShowsWhatAnOperatorLooksFor(t *testing.T) {
	program.NeedLibrary(t)
	j := startJaeger(t)
	p := plane.New(t, plane.Options{
		Services: []string{"flowstore", "flow", "paths", "policy", "push", "alpha", "dashboard"}, Settings: fmt.Sprintf(traced, j.host),
	})
	tworouters.Tell(t, p.Kafka.Addr, http.DefaultClient, p.URL("paths"), time.Now())
	w := plane.NewWork(http.DefaultClient, func(string) string { return p.URL("dashboard") }, p.Routers)
	datagram(t, j.host)
	w.Send(t, "alpha", plane.Huge)
	plane.Asking(t, "the alpha flow is stored", func(ctx context.Context) error {
		if _, octets, err := w.Stored(ctx); err != nil || octets < plane.Huge {
			return fmt.Errorf("%d octets are stored: %w", octets, err)
		}
		return nil
	})
	plane.Asking(t, "a nightly run", w.Nightly)
	w.Settle(t)
	pair := plane.Flow("", 0, plane.Huge).GetSrcAddr()
	w.InForce(t, net.IP(pair).String()+"/32")
	for _, want := range []string{
		`flow publish flow records > flowstore flowstore takes millrace\.flows\.v1`,
		`dashboard serve /millrace\.alpha\.v1\.AlphaService/Nightly > .*alpha nightly run > .*flowstore serve /millrace\.flow\.v1\.FlowStoreService/Top`,
		`dashboard serve /millrace\.alpha\.v1\.AlphaService/Nightly > .*alpha nightly run > .*push serve /millrace\.push\.v1\.ChangeService/Create > .*policy serve .* > .*paths serve .*`,
		`dashboard serve /millrace\.push\.v1\.ChangeService/Approve > .*push roll out change set > push send WR > push call /gnmi\.gNMI/Set`,
		`dashboard serve /millrace\.push\.v1\.ChangeService/Approve > .*push roll out change set > push confirm WR > push call /gnmi\.gNMI/Set`,
		`dashboard serve /millrace\.push\.v1\.ChangeService/Approve > .*push roll out change set > push confirm ER > push call /gnmi\.gNMI/Set`,
	} {
		j.wait(t, want)
	}
}

// datagram sends a flow as a router does.
func datagram(t *testing.T, host string) {
	t.Helper()
	c, err := net.Dial("udp", net.JoinHostPort(host, "2055"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.Now().Add(-transfers.Lasted)
	if _, err := c.Write(transfers.Transfer{Src: "10.3.0.1", Dst: "10.4.0.1", Bytes: 3000}.V5(begin.Add(-time.Hour), begin, 0)); err != nil {
		t.Fatal(err)
	}
}

// jaeger is a running one.
type jaeger struct {
	host, url string
	shown     map[string]bool // traces that are in the log
}

func startJaeger(t *testing.T) *jaeger {
	t.Helper()
	binary := os.Getenv("MILLRACE_JAEGER")
	if binary == "" {
		t.Fatal("MILLRACE_JAEGER names no program: run `make jaeger`")
	}
	host, folder := program.OwnHost(), t.TempDir()
	file := filepath.Join(folder, "jaeger.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, jaegerConfig, host), 0o600); err != nil {
		t.Fatal(err)
	}
	process := program.Start(t, folder, "jaeger", binary, "--config", file)
	t.Cleanup(func() { process.Signal(t, syscall.SIGTERM) })
	j := &jaeger{host, "http://" + net.JoinHostPort(host, "16686"), map[string]bool{}}
	program.Until(t, "Jaeger answers", func() (bool, any) {
		if process.Ended() {
			t.Fatalf("Jaeger ended:\n%s", process.Tail())
		}
		_, err := j.traces(t.Context(), "none")
		return err == nil, err
	})
	return j
}

// span is one as Jaeger's query API tells of it.
type span struct {
	SpanID        string `json:"spanID"`
	OperationName string `json:"operationName"`
	ProcessID     string `json:"processID"`
	Duration      int64  `json:"duration"` // µs
	StartTime     int64  `json:"startTime"`
	References    []struct {
		SpanID string `json:"spanID"`
	} `json:"references"`
}

type found struct {
	TraceID   string `json:"traceID"`
	Spans     []span `json:"spans"`
	Processes map[string]struct {
		ServiceName string `json:"serviceName"`
	} `json:"processes"`
}

// traces are those in which a service has a part.
func (j *jaeger) traces(ctx context.Context, service string) ([]found, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, j.url+"/api/traces?limit=1000&service="+service, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var all struct {
		Data []found `json:"data"`
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("Jaeger: %s", answer.Status)
	}
	return all.Data, json.NewDecoder(answer.Body).Decode(&all)
}

// show logs a trace once.
func (j *jaeger) show(t *testing.T, f found) {
	t.Helper()
	if !j.shown[f.TraceID] {
		j.shown[f.TraceID] = true
		t.Logf("trace %s:\n%s", f.TraceID, f)
	}
}

// wait waits for a trace that has a chain from its first span to another one, and shows it.
func (j *jaeger) wait(t *testing.T, chain string) {
	t.Helper()
	re := regexp.MustCompile("^" + chain + "$")
	service, _, _ := strings.Cut(chain, " ")
	program.Until(t, "Jaeger has "+chain, func() (bool, any) {
		all, err := j.traces(t.Context(), "millrace-"+service)
		if err != nil {
			return false, err
		}
		var others []string
		for _, trace := range all {
			chains := trace.chains()
			if slices.ContainsFunc(chains, re.MatchString) {
				j.show(t, trace)
				return true, nil
			}
			others = append(others, chains...)
		}
		return false, strings.Join(others, "\n")
	})
}

// name is "push send WR" for the span of service millrace-push.
func (f found) name(s span) string {
	return strings.TrimPrefix(f.Processes[s.ProcessID].ServiceName, "millrace-") + " " + s.OperationName
}

// below are the spans of a parent, in the order of their start; empty: those whose parent is in no span of the trace.
func (f found) below(parent string) (out []span) {
	for _, s := range f.Spans {
		of := ""
		if len(s.References) > 0 && slices.ContainsFunc(f.Spans, func(o span) bool { return o.SpanID == s.References[0].SpanID }) {
			of = s.References[0].SpanID
		}
		if of == parent {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b span) int { return int(a.StartTime - b.StartTime) })
	return out
}

// walk visits every span below its parent.
func (f found) walk(parent string, above []string, visit func(names []string, s span)) {
	for _, s := range f.below(parent) {
		names := append(slices.Clone(above), f.name(s))
		visit(names, s)
		f.walk(s.SpanID, names, visit)
	}
}

func (f found) chains() (out []string) {
	f.walk("", nil, func(names []string, _ span) { out = append(out, strings.Join(names, " > ")) })
	return out
}

// String is a line for each span, below its parent.
func (f found) String() string {
	var out strings.Builder
	f.walk("", nil, func(names []string, s span) {
		fmt.Fprintf(&out, "%9.1f ms  %s%s\n", float64(s.Duration)/1000, strings.Repeat("  ", len(names)-1), names[len(names)-1])
	})
	return out.String()
}
