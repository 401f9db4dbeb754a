package flowstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/store"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

// vpnSample is one VPN flow at one time.
type vpnSample struct {
	vpn, ingress, egress                         string
	throughput, share, window, rtt, loss, weight float64
	queue, drops                                 uint64
}

// vpnSamples is one message.
type vpnSamples struct {
	at    time.Time
	flows []vpnSample
	round *vpnv1.Round // in the first message of a time
}

// takeVPN is the handler of topic millrace.vpn.v1.
func (c *Component) takeVPN(ctx context.Context, m bus.Message) error {
	defer c.busy.enter()()
	b := &vpnv1.SampleBatch{}
	if err := proto.Unmarshal(m.Value, b); err != nil {
		c.drop(m, reasonUndecodable, 1)
		return nil
	}
	s := vpnSamples{at: b.GetTime().AsTime(), round: b.GetRound()}
	if !b.GetTime().IsValid() || !storable(s.at, s.at) {
		c.drop(m, reasonTime, max(len(b.GetFlows()), 1))
		return nil
	}
	for _, f := range b.GetFlows() {
		sample := vpnSample{
			vpn: f.GetVpn(), ingress: f.GetIngress(), egress: f.GetEgress(), throughput: f.GetThroughput(), share: f.GetFairShare(),
			window: f.GetWindow(), rtt: f.GetRttSeconds(), loss: f.GetLoss(), weight: f.GetWeight(), queue: f.GetQueue(), drops: f.GetDrops(),
		}
		if !sample.valid() {
			c.drop(m, reasonInvalid, 1)
			continue
		}
		s.flows = append(s.flows, sample)
	}
	if s.round != nil && (!finite(s.round.GetFairness()) || !finite(s.round.GetJain()) || !finite(s.round.GetThroughput())) {
		c.drop(m, reasonInvalid, 1)
		s.round = nil
	}
	if len(s.flows) == 0 && s.round == nil {
		return nil
	}
	return c.vpn.store(ctx, s, len(s.flows)+1)
}

// valid reports whether a mean over the sample would still be a number.
func (s *vpnSample) valid() bool {
	return s.vpn != "" && finite(s.throughput) && finite(s.share) && finite(s.window) && finite(s.rtt) && finite(s.loss) && finite(s.weight)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// vpnWriter inserts samples; the tables' keys make repeats harmless.
type vpnWriter struct {
	db      store.DB
	metrics *metrics
}

func (w *vpnWriter) insert(ctx context.Context, batches []vpnSamples) error {
	began := time.Now()
	for table, columns := range map[string][]store.Column{"vpn_flows": sampleColumns(batches), "vpn_fairness": fairnessColumns(batches)} {
		rows := len(columns[0].Values.([]time.Time))
		if rows == 0 {
			continue
		}
		if err := w.db.Insert(ctx, store.Batch{Table: table, Columns: columns}); err != nil {
			w.metrics.insertErrors.WithLabelValues(table).Inc()
			return fmt.Errorf("insert %s: %w", table, err)
		}
		w.metrics.rows.WithLabelValues(table).Add(float64(rows))
	}
	w.metrics.insertSeconds.WithLabelValues("vpn_flows").Observe(time.Since(began).Seconds())
	return nil
}

func sampleColumns(batches []vpnSamples) []store.Column {
	var at []time.Time
	var names [3][]string
	var numbers [6][]float64
	var queue, drops []uint64
	for _, b := range batches {
		for _, s := range b.flows {
			at, queue, drops = append(at, b.at), append(queue, s.queue), append(drops, s.drops)
			for i, v := range [...]string{s.vpn, s.ingress, s.egress} {
				names[i] = append(names[i], v)
			}
			for i, v := range [...]float64{s.throughput, s.share, s.window, s.rtt, s.loss, s.weight} {
				numbers[i] = append(numbers[i], v)
			}
		}
	}
	out := []store.Column{{Name: "time", Type: milliseconds, Values: at}, {Name: "queue", Type: "UInt64", Values: queue}, {Name: "drops", Type: "UInt64", Values: drops}}
	for i, name := range [...]string{"vpn", "ingress", "egress"} {
		out = append(out, store.Column{Name: name, Type: "LowCardinality(String)", Values: names[i]})
	}
	for i, name := range [...]string{"throughput", "fair_share", "window", "rtt", "loss", "weight"} {
		out = append(out, store.Column{Name: name, Type: "Float64", Values: numbers[i]})
	}
	return out
}

func fairnessColumns(batches []vpnSamples) []store.Column {
	var at []time.Time
	var f, jain, throughput []float64
	var active []uint32
	for _, b := range batches {
		if b.round != nil {
			at, active = append(at, b.at), append(active, b.round.GetActive())
			f, jain, throughput = append(f, b.round.GetFairness()), append(jain, b.round.GetJain()), append(throughput, b.round.GetThroughput())
		}
	}
	return []store.Column{
		{Name: "time", Type: milliseconds, Values: at}, {Name: "active", Type: "UInt32", Values: active},
		{Name: "fairness", Type: "Float64", Values: f}, {Name: "jain", Type: "Float64", Values: jain}, {Name: "throughput", Type: "Float64", Values: throughput},
	}
}
