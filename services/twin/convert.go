package twin

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/units"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	twinv1 "github.com/millrace/millrace/proto/gen/millrace/twin/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/twin/predict"
)

// plansFromProto takes what a port's simulation needs of plans: queues, ports and scheduling.
func plansFromProto(list []*policyv1.RouterPlan) ([]compile.RouterPlan, error) {
	if len(list) == 0 {
		return nil, errors.New("there is no plan to simulate")
	}
	var out []compile.RouterPlan
	var failed error
	for _, m := range list {
		p, err := planFromProto(m)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("router %s: %w", m.GetRouter(), err))
		}
		out = append(out, p)
	}
	return out, failed
}

// maxBuffer is ten times what the longest buffers of routers hold.
const maxBuffer = 10 * time.Second

func planFromProto(m *policyv1.RouterPlan) (compile.RouterPlan, error) {
	if m.GetRouter() == "" {
		return compile.RouterPlan{}, errors.New("a plan names no router")
	}
	p := compile.RouterPlan{Router: m.GetRouter(), Policy: m.GetPolicy(), BufferTime: document.Duration(m.GetBufferTime())}
	err := errors.Join(
		within("the buffer in ns", m.GetBufferTime(), uint64(maxBuffer)),
		word(&p.Scheduling.Excess, m.GetScheduling().GetExcess()),
		word(&p.Scheduling.Partition, m.GetScheduling().GetPartition()),
	)
	for _, q := range m.GetQueues() {
		queue, wrong := queueFromProto(q)
		err = errors.Join(err, wrong)
		p.Queues = append(p.Queues, queue)
	}
	for _, port := range m.GetPorts() {
		at, wrong := portFromProto(port)
		err = errors.Join(err, wrong)
		p.Ports = append(p.Ports, at)
	}
	for _, o := range m.GetPolicers() {
		p.Policers = append(p.Policers, compile.Policer{Policer: document.Policer{Name: o.GetName(), Queue: o.GetQueue()}, Interfaces: o.GetInterfaces()})
	}
	for _, f := range m.GetFilters() {
		filter := compile.Filter{Name: f.GetName()}
		for _, r := range m.GetRules() {
			if r.GetFilter() == f.GetName() {
				filter.Rules = append(filter.Rules, compile.Rule{Sequence: r.GetSequence(), Queue: r.GetQueue()})
			}
		}
		p.Filters = append(p.Filters, filter)
	}
	return p, err
}

func portFromProto(m *policyv1.PortScheduling) (compile.Port, error) {
	p := compile.Port{Interface: m.GetInterface(), Speed: units.Rate(m.GetSpeed()), Split: uint8(m.GetSplit())}
	err := within("the split in percent", m.GetSplit(), 100)
	for _, q := range m.GetQueues() {
		queue, wrong := queueFromProto(q)
		err = errors.Join(err, wrong)
		p.Queues = append(p.Queues, queue)
	}
	return p, err
}

func queueFromProto(m *policyv1.Queue) (document.Queue, error) {
	q := document.Queue{
		Name: m.GetName(), ID: uint8(m.GetId()), Weight: uint8(m.GetWeight()), Buffer: uint8(m.GetBuffer()),
		Priority: document.Priority(m.GetPriority()), Default: m.GetDefault(), MaxRate: uint8(m.GetMaxRate()),
	}
	err := errors.Join(
		within("the queue number", m.GetId(), 7), within("the weight in percent", m.GetWeight(), 100), within("the buffer in percent", m.GetBuffer(), 100),
		within("the priority", m.GetPriority(), 4), within("the rate limit in percent", m.GetMaxRate(), 100),
	)
	for _, c := range m.GetDropProfiles() {
		if c.GetEcn() {
			return q, fmt.Errorf("queue %s marks instead of dropping (ECN), which the twin does not simulate", q.Name)
		}
		profile := document.DropProfile{Min: uint8(c.GetMin()), Max: uint8(c.GetMax()), Probability: uint8(c.GetProbability())}
		err = errors.Join(err, word(&profile.LossPriority, c.GetLossPriority()),
			within("a fill level in percent", max(c.GetMin(), c.GetMax()), 100), within("a drop probability in percent", c.GetProbability(), 100))
		if c.GetLossPriority() == "" {
			q.RED = &profile
		} else {
			q.WRED = append(q.WRED, profile)
		}
	}
	if err != nil {
		return q, fmt.Errorf("queue %s: %w", q.Name, err)
	}
	return q, nil
}

// within refuses a number that would be cut.
func within[T uint32 | uint64](what string, got, most T) error {
	if got > most {
		return fmt.Errorf("%s is %d, over %d", what, got, most)
	}
	return nil
}

// word reads a word of the policy language; none is its zero value.
func word[T interface{ UnmarshalText([]byte) error }](into T, text string) error {
	if text == "" {
		return nil
	}
	return into.UnmarshalText([]byte(text))
}

func effectToProto(router, port string, e predict.Effect) *twinv1.ClassEffect {
	return &twinv1.ClassEffect{
		Router: router, Interface: port, Queue: e.Queue, Offered: uint64(e.Offered), Carried: uint64(e.Carried),
		LossPercent: e.LossPercent, DelayMeanMs: e.DelayMean, DelayP99Ms: e.DelayP99,
	}
}
