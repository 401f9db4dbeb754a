package circuits

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/lab/experiments/qos"
	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// The circuit for TCP from S to some ports of T. Its length is enough for its traffic on a busy machine.
const (
	flowRate   = 20_000_000
	flowLength = 60 * time.Second
	flowPorts  = "5200-5299"
)

// requestFlow books the circuit. The shortest path is too narrow for it.
func (r *run) requestFlow(ctx context.Context) (err error) {
	start := time.Now().Add(soon).Truncate(time.Second)
	t := &circuitsv1.Terms{
		Project: "physics", From: "A", To: "C", RateBitsPerSecond: flowRate,
		Start: timestamppb.New(start), End: timestamppb.New(start.Add(flowLength)),
		Pairs: []*circuitsv1.PrefixPair{{Source: "10.1.1.2/32", Destination: "10.2.1.2/32", Protocol: "tcp", DestinationPorts: flowPorts}},
	}
	r.Say("ask for %d Mbit/s for TCP from S to ports %s of T, from %s", flowRate/1_000_000, flowPorts, start.Format(time.TimeOnly))
	r.circuit, err = r.ask(ctx, "flow", t)
	return err
}

// flow runs the phase between two readings of the routers' counters.
func (r *run) flow(ctx context.Context) (err error) {
	meter, err := qos.NewMeter(ctx, r.Lab)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, meter.Close()) }()
	counted, err := meter.Count(ctx, r.phase("flow"))
	for name, value := range counted {
		r.Result.Metrics["flow/"+name] = value
	}
	return err
}
