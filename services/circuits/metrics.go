package circuits

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/circuits/calendar"
	"github.com/millrace/millrace/services/circuits/ledger"
	"github.com/millrace/millrace/services/circuits/life"
)

const prefix = "millrace_services_circuits_"

type metrics struct {
	requests, modifications, reroutes, hooks, changes, starts *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, c *Component) *metrics {
	if r != nil {
		r.MustRegister(&collector{
			c:          c,
			circuits:   prometheus.NewDesc(prefix+"circuits", "Circuits by state.", []string{"state"}, nil),
			overbooked: prometheus.NewDesc(prefix+"overbooked_links", "Link directions of which more is booked within a year than there is now.", nil, nil),
			cut:        prometheus.NewDesc(prefix+"share_cut_ratio", "How much of each link circuits.share or circuits.hard_share, whichever is more, says beyond what the policy guarantees circuits; 0: nothing.", nil, nil),
		})
	}
	answers := func(name, what string) *prometheus.CounterVec {
		return promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: prefix + name, Help: what + " by answer: granted, the code of a refusal, or error.",
		}, []string{"answer"})
	}
	m := &metrics{
		requests: answers("requests_total", "Requests"), modifications: answers("modifications_total", "Modifications, with dry runs,"),
		reroutes: answers("reroutes_total", "Searches for another path of a circuit whose path is lost"),
		hooks: promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "webhook_messages_total", Help: "Messages to webhooks by result: delivered, failed and sent again, given-up.",
		}, []string{"result"}),
		changes: promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "change_sets_total", Help: "Requests for change sets: asked, error, or again where one ended without anything sent.",
		}, []string{"answer"}),
		starts: promauto.With(r).NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "starts_total", Help: "Circuits that began, by result: on-time, or late where the start was over before routers were proven to carry them.",
		}, []string{"result"}),
	}
	for _, result := range []string{onTime, tooLate} {
		m.starts.WithLabelValues(result)
	}
	return m
}

// asked counts the answer to a request for a change set.
func (m *metrics) asked(err error) {
	if err != nil {
		m.changes.WithLabelValues("error").Inc()
		return
	}
	m.changes.WithLabelValues("asked").Inc()
}

// count counts an answer.
func count(of *prometheus.CounterVec, err error) {
	var no refused
	switch {
	case err == nil:
		of.WithLabelValues("granted").Inc()
	case errors.As(err, &no):
		of.WithLabelValues(no.GetCode()).Inc()
	default:
		of.WithLabelValues("error").Inc()
	}
}

// collector has what the book says.
type collector struct {
	c                    *Component
	circuits, overbooked *prometheus.Desc
	cut                  *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.circuits
	out <- c.overbooked
	out <- c.cut
}

// year is how far ahead overbooked links are looked for.
const year = 365 * 24 * time.Hour

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	states, links, known := map[circuitsv1.State]int{}, map[string]bool{}, false
	var kept guarantee
	now := c.c.deps.Now()
	err := c.c.ledger.Look("", func(func(func(*circuitsv1.Record) bool)) {
		for s, n := range c.c.book.states {
			states[s] = n
		}
		kept = c.c.book.guarantee
		if known = c.c.book.admit != nil; known {
			for _, b := range c.c.book.admit.Overbooked(calendar.Window{Start: now.Unix(), End: now.Add(year).Unix()}) {
				links[b.Link] = true
			}
		}
	})
	if err != nil {
		return
	}
	for _, s := range life.States {
		out <- prometheus.MustNewConstMetric(c.circuits, prometheus.GaugeValue, float64(states[ledger.StateOf(s)]), string(s))
	}
	if known {
		out <- prometheus.MustNewConstMetric(c.overbooked, prometheus.GaugeValue, float64(len(links)))
	}
	if kept.why == nil {
		out <- prometheus.MustNewConstMetric(c.cut, prometheus.GaugeValue, float64(cutOf(c.c.cfg, kept))/whole)
	}
}

// Results of starts_total.
const (
	onTime  = "on-time"
	tooLate = "late"
)
