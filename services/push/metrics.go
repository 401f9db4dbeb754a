package push

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/services/push/rollout"
)

type metrics struct {
	transitions *prometheus.CounterVec
	commits     *prometheus.CounterVec
	readings    *prometheus.CounterVec
	drift       *prometheus.GaugeVec
	unreadable  prometheus.Gauge
	plans       prometheus.Gauge
	seconds     *prometheus.HistogramVec
}

// newMetrics registers with r; a nil r counts without being shown.
func newMetrics(r prometheus.Registerer) *metrics {
	f := promauto.With(r)
	m := &metrics{
		transitions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_push_transitions_total",
			Help: "Change sets that entered a state, by state.",
		}, []string{"state"}),
		commits: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_push_commits_total",
			Help: "Commits sent to routers, by router and result: applied, refused, lost.",
		}, []string{"router", "result"}),
		readings: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millrace_services_push_readings_total",
			Help: "Readings of routers after their change set, by result: as it should be, differs, not judged.",
		}, []string{"result"}),
		unreadable: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_push_unreadable_records",
			Help: "Records of change sets in etcd that cannot be read.",
		}),
		plans: f.NewGauge(prometheus.GaugeOpts{
			Name: "millrace_services_push_plans_bytes",
			Help: "Size of the plans and diffs of all change sets in etcd, compressed, when they were last counted; see push.keep.",
		}),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "millrace_services_push_change_set_seconds",
			Help:    "How long change sets took, from the first commit to the end, by state at the end: verified, rolled-back, failed.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}, []string{"state"}),
		drift: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "millrace_services_push_drift",
			Help: "Whether a router differed from what change sets left on it when it was last read, by router.",
		}, []string{"router"}),
	}
	for _, state := range []rollout.State{rollout.Verified, rollout.RolledBack, rollout.Failed} {
		m.seconds.WithLabelValues(string(state))
	}
	for _, state := range rollout.States {
		m.transitions.WithLabelValues(string(state))
	}
	return m
}

// ended counts a change set that was being applied or rolled back and is not any more.
func (m *metrics) ended(cs *pushv1.ChangeSet) {
	began, over := rolling(cs.GetHistory())
	if over != nil {
		m.seconds.WithLabelValues(stateWord(over.GetState())).Observe(over.GetTime().AsTime().Sub(began.GetTime().AsTime()).Seconds())
	}
}

// rolling is the transition at which the last rollout of a history began, and the one at which it ended; nil where
// there is none, or the history goes on after it.
func rolling(history []*pushv1.Transition) (began, over *pushv1.Transition) {
	for i, t := range history {
		switch t.GetState() {
		case pushv1.State_STATE_CANARY, pushv1.State_STATE_APPLYING, pushv1.State_STATE_ROLLING_BACK:
			if began == nil {
				began = t
			}
		case pushv1.State_STATE_VERIFIED, pushv1.State_STATE_ROLLED_BACK, pushv1.State_STATE_FAILED:
			if began != nil && i == len(history)-1 {
				return began, t
			}
			began = nil
		}
	}
	return nil, nil
}
