package doctor

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Sample is a value of a metric with its labels.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Metrics are samples by the metric's name.
type Metrics map[string][]Sample

// ReadMetrics reads what /metrics answers.
func ReadMetrics(r io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	all := Metrics{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			s := Sample{Labels: map[string]string{}, Value: value(m)}
			for _, l := range m.GetLabel() {
				s.Labels[l.GetName()] = l.GetValue()
			}
			all[name] = append(all[name], s)
		}
	}
	return all, nil
}

func value(m *dto.Metric) float64 {
	switch {
	case m.GetGauge() != nil:
		return m.GetGauge().GetValue()
	case m.GetCounter() != nil:
		return m.GetCounter().GetValue()
	default:
		return m.GetUntyped().GetValue()
	}
}

// rule is about one metric: which values are bad, what that means, and what to do.
type rule struct {
	area, metric string
	// by is the label that names the subject.
	by  string
	bad func(s Sample, all Metrics, now time.Time) bool
	Level
	// what has %[1]s for the subject and %[2]s for the value.
	what, do, runbook string
}

func is(v float64) func(Sample, Metrics, time.Time) bool {
	return func(s Sample, _ Metrics, _ time.Time) bool { return s.Value == v }
}

func some(s Sample, _ Metrics, _ time.Time) bool { return s.Value > 0 }

// reason is some of a sample that has a reason.
func reason(of string) func(Sample, Metrics, time.Time) bool {
	return func(s Sample, _ Metrics, _ time.Time) bool { return s.Value > 0 && s.Labels["reason"] == of }
}

// share is above a part of another metric's sum over the same label.
func share(of, label string, part float64) func(Sample, Metrics, time.Time) bool {
	return func(s Sample, all Metrics, _ time.Time) bool {
		var sum float64
		for _, o := range all[of] {
			if o.Labels[label] == s.Labels[label] {
				sum += o.Value
			}
		}
		return s.Value > part*(sum+s.Value)
	}
}

// within is a point in time that has come, or will be within a while.
func within(d time.Duration) func(Sample, Metrics, time.Time) bool {
	return func(s Sample, _ Metrics, now time.Time) bool {
		return s.Value > 0 && s.Value-float64(now.Unix()) < d.Seconds()
	}
}

// full is a file that has most of its quota.
func full(s Sample, all Metrics, _ time.Time) bool {
	for _, o := range all[etcdSize] {
		if o.Labels["what"] == "quota" && s.Labels["what"] == "file" {
			return s.Value > 0.8*o.Value
		}
	}
	return false
}

const etcdSize = "millrace_internal_state_etcd_bytes"

// rules are what a control plane says of itself, in the order of areas.
var rules = []rule{
	{"control plane", "millrace_internal_monitor_dependency_ready", "dependency", is(0), Wrong,
		"%[1]s does not do its work", "Look at /readyz for its answer, and at the log.", "MillraceDependencyNotReady"},
	{"stores", etcdSize, "what", full, Warning, "etcd has more than 80 %% of its quota", "Raise etcd.quota, or shorten push.keep and circuits.keep.", "MillraceEtcdNearlyFull"},
	{"stores", "millrace_services_flowstore_insert_errors_total", "table", some, Warning,
		"inserts into %[1]s failed %[2]s times since the start", "Look at the log of the flow store, and at ClickHouse.", "MillraceInsertErrors"},
	{"control plane", "millrace_internal_bus_lost_total", "topic", some, Warning,
		"%[2]s messages of %[1]s were lost since the start", "Nightly runs over these hours saw less than there was.", "MillraceMessagesLost"},
	{"control plane", "millrace_services_push_unreadable_records", "", some, Wrong,
		"%[2]s records of change sets cannot be read", "An older program may run on newer data: upgrade it.", "MillraceUnreadableChangeSets"},
	{"control plane", "millrace_services_policy_broken_files", "", some, Warning,
		"%[2]s files of policy.dir have errors, or a name that another one has; the next start will fail", "`millrace policy check` says what is wrong with a file; the log says which.", ""},
	{"control plane", "millrace_services_circuits_share_cut_ratio", "", some, Warning,
		"circuits may use less of each link than circuits.share or circuits.hard_share says: the policy guarantees no more",
		"Raise the weight of the queue of circuits in circuits.provision.policy, or lower both shares.", ""},
	{"certificates", "millrace_internal_mtls_not_after_timestamp_seconds", "use", within(0), Wrong,
		"the one for %[1]s has expired", "Replace the file; it is read again without a restart.", "MillraceCertificateExpires"},
	{"certificates", "millrace_internal_mtls_not_after_timestamp_seconds", "use", within(Soon), Warning,
		"the one for %[1]s expires within 14 days", "Replace the file; it is read again without a restart.", "MillraceCertificateExpires"},
	{"certificates", "millrace_internal_mtls_refused", "use", is(1), Wrong,
		"changed files for %[1]s cannot be used; the former ones still are", "The log says which and why.", "MillraceCertificatesRefused"},
	{"routers", "millrace_collectors_topology_reachable", "device", is(0), Wrong,
		"%[1]s does not answer", "Look whether its agent runs, and whether the address in the inventory and the certificate are right.", "MillraceRouterUnreachable"},
	{"routers", "millrace_services_push_drift", "router", is(1), Warning,
		"%[1]s differs from what change sets left on it", "`millrace change drift` says in what; create and apply a change set to make it the same again.", "MillraceRouterDrift"},
	{"routers", "millrace_collectors_telemetry_connected", "device", is(0), Warning,
		"%[1]s sends no counters", "The log of the telemetry collector says why it refuses the subscription.", "MillraceTelemetryDown"},
	{"routers", "millrace_collectors_telemetry_wrong_times_total", "device", some, Warning,
		"the clock of %[1]s was off: %[2]s counters since the start had a time of another day", "Let NTP keep the router's clock.", "MillraceRouterClockWrong"},
	{"exporters", "millrace_collectors_flow_drops_total", "exporter", reason("unlisted"), Warning,
		"%[2]s datagrams came from addresses that no device of the inventory has", "The log names the first of them: list it among the `exporters` of its device.", "MillraceIngestLoss"},
	{"exporters", "millrace_collectors_flow_unknown_rate_records_total", "exporter", some, Warning,
		"%[1]s does not say at which rate it samples: %[2]s records", "Set the rate at the exporter, or flow.exporters.sampling_rate.", ""},
	{"exporters", "millrace_collectors_flow_lost", "exporter", share("millrace_collectors_flow_records_total", "exporter", 0.001), Warning,
		"of %[1]s more than 0.1 %% is missing by its sequence numbers", "Look for drops on the way and in the socket's buffer.", "MillraceIngestLoss"},
	{"exporters", "millrace_services_alpha_refused_exporters", "", some, Warning,
		"the last nightly run refused %[2]s exporters, because too much of their flows was missing", "`millrace alpha nightly --dry-run` names them with the reason.", "MillraceExportersRefused"},
}

// Judge says what metrics show that is wrong, and of each area whether it is fine.
func Judge(all Metrics, now time.Time) []Finding {
	var found []Finding
	looked := map[string]bool{}
	for _, r := range rules {
		for _, s := range all[r.metric] {
			looked[r.area] = true
			if !r.bad(s, all, now) {
				continue
			}
			subject := s.Labels[r.by]
			f := Finding{r.area, subject, r.Level, strings.TrimSpace(sentence(r.what, subject, s.Value)), r.do, r.runbook}
			if !slices.ContainsFunc(found, func(o Finding) bool {
				return o.Area == f.Area && o.Subject == f.Subject && o.Runbook == f.Runbook && f.Runbook != ""
			}) {
				found = append(found, f)
			}
		}
	}
	for _, area := range slices.Sorted(maps.Keys(looked)) {
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Area == area }) {
			found = append(found, good(area, "", "the control plane's metrics show nothing wrong"))
		}
	}
	Sort(found)
	return found
}

// sentence fills in; a sentence need not have both.
func sentence(format, subject string, v float64) string {
	return strings.NewReplacer("%[1]s", subject, "%[2]s", fmt.Sprintf("%.0f", v), "%%", "%").Replace(format)
}
