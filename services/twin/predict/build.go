package predict

import (
	"context"
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/shares"
	"github.com/millrace/millrace/internal/units"
	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/discipline"
	"github.com/millrace/millrace/services/twin/engine"
)

// frame is what the lab's schedulers and buffers count beside the IP packet: the Ethernet header.
const frame = 14

// builder makes a network of a scenario and the plans its routers hold.
type builder struct {
	// ctx is the prediction's: routes of a large scenario take longer than a prediction may.
	ctx   context.Context
	s     *scenario.Scenario
	net   *engine.Net
	plans map[string]compile.RouterPlan
	ports map[scenario.Endpoint]int
	// policers by router, interface and place in the plan, made when a flow first passes them.
	policers map[string]policed
	// costs are OSPF's where a phase has changed a link's; past are counters of queues that a change has replaced.
	costs map[scenario.Endpoint]int
	past  map[string]discipline.Counters
	err   error
}

// policed is one policer in the network.
type policed struct {
	number int
	config discipline.PolicerConfig
}

func newBuilder(ctx context.Context, s *scenario.Scenario, held []compile.RouterPlan, seed uint64) *builder {
	b := &builder{
		ctx: ctx, s: s, net: engine.New(seed), ports: map[scenario.Endpoint]int{}, policers: map[string]policed{},
		costs: map[scenario.Endpoint]int{}, past: map[string]discipline.Counters{},
	}
	b.hold(held)
	for _, l := range s.Links {
		b.link(l.A, l)
		b.link(l.B, l)
	}
	return b
}

func (b *builder) hold(plans []compile.RouterPlan) {
	b.plans = map[string]compile.RouterPlan{}
	for _, p := range plans {
		b.plans[p.Router] = p
	}
}

func (b *builder) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

// link makes the port of one end.
func (b *builder) link(e scenario.Endpoint, l scenario.Link) {
	c := engine.PortConfig{
		Name: e.String(), Rate: float64(l.Rate), Delay: engine.Time(l.Delay.Nanoseconds()) * 1000, Loss: l.Loss, Overhead: frame,
	}
	if _, router := b.s.Router(e.Node); router {
		c.LimitBytes = int64(l.Buffer)
	}
	c.Queues, _ = b.queuesOf(e, l)
	n, err := b.net.AddPort(c)
	b.keep(err)
	b.ports[e] = n
}

// queuesOf a port by the plan its router holds, and the number of the default one; nil: one first-in first-out queue.
func (b *builder) queuesOf(e scenario.Endpoint, l scenario.Link) (*discipline.Config, int) {
	plan, ok := b.plans[e.Node]
	i := slices.IndexFunc(plan.Ports, func(p compile.Port) bool { return p.Interface == e.Interface })
	if !ok || i < 0 {
		return nil, 0
	}
	return Queues(plan.At(plan.Ports[i]), float64(l.Rate)), defaultQueue(plan)
}

// Queues are a plan's queues on a port of the given rate.
func Queues(plan compile.RouterPlan, rate float64) *discipline.Config {
	list, excess := plan.Shares()
	c := &discipline.Config{Rate: rate, Excess: excess}
	for i, q := range plan.Queues {
		c.Queues = append(c.Queues, discipline.Queue{
			Name: q.Name, Weight: list[i].Weight, Max: list[i].Max, Priority: uint8(list[i].Priority),
			Limit: int64(shares.Buffer(plan.BufferBytes(units.Rate(rate), q))), Discipline: dropping(q),
		})
	}
	return c
}

// dropping is the queue discipline of a queue.
func dropping(q document.Queue) discipline.Discipline {
	if q.RED != nil {
		return discipline.RED(dropProfile(*q.RED))
	}
	if len(q.WRED) == 0 {
		return nil
	}
	var w discipline.WRED
	for _, c := range q.WRED {
		p := dropProfile(c)
		w[colour(c.LossPriority)] = &p
	}
	return w
}

func dropProfile(c document.DropProfile) discipline.DropProfile {
	return discipline.DropProfile{Min: float64(c.Min) / 100, Max: float64(c.Max) / 100, Probability: float64(c.Probability) / 100}
}

// colour: packets without a loss priority act as low.
func colour(l document.LossPriority) uint8 {
	if l == document.LossLow {
		return discipline.Green
	}
	return uint8(l)
}

func queueIndex(plan compile.RouterPlan, name string) int {
	return max(slices.IndexFunc(plan.Queues, func(q document.Queue) bool { return q.Name == name }), 0)
}

func defaultQueue(plan compile.RouterPlan) int {
	return max(slices.IndexFunc(plan.Queues, func(q document.Queue) bool { return q.Default }), 0)
}

// policer is the number of one policer on one interface.
func (b *builder) policer(plan compile.RouterPlan, p compile.Policer, on string) int {
	key := policerName(plan, p, on)
	c := discipline.PolicerConfig{
		Rate: float64(p.Rate), Burst: float64(p.Burst), Peak: float64(p.PeakRate), PeakBurst: float64(p.PeakBurst), Queue: -1,
		Exceed: action(plan, p.Exceed), Violate: action(plan, p.Violate),
	}
	if held, made := b.policers[key]; made && held.config == c {
		return held.number
	}
	n, err := b.net.AddPolicer(c)
	b.keep(err)
	b.policers[key] = policed{n, c}
	return n
}

// policerName is what the lab calls a policer's counters: its place among those of the interface of arrival.
func policerName(plan compile.RouterPlan, p compile.Policer, on string) string {
	place := 0
	for _, o := range plan.Policers {
		if slices.Contains(o.Interfaces, on) {
			place++
		}
		if o.Name == p.Name {
			break
		}
	}
	return fmt.Sprintf("%s:%s:policer-%d", plan.Router, on, place)
}

func action(plan compile.RouterPlan, a document.Action) discipline.Action {
	out := discipline.Action{Drop: a.Drop, Queue: -1, DSCP: -1, Colour: colour(a.LossPriority)}
	if a.Queue != "" {
		out.Queue = int8(queueIndex(plan, a.Queue))
	}
	if a.Mark != nil {
		out.DSCP = int8(*a.Mark)
	}
	return out
}
