package hntes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/report"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// port names one interface of one router.
type port struct{ router, name string }

// portDelta is bytes sent per port, as the kernel counts them.
type portDelta map[port]uint64

func (a portDelta) minus(b portDelta) portDelta {
	out := portDelta{}
	for p, v := range a {
		out[p] = v - b[p]
	}
	return out
}

// readPorts reads the kernels' own counters, past agent and telemetry.
func (r *run) readPorts(ctx context.Context) (portDelta, error) {
	type link struct {
		Name  string `json:"ifname"`
		Stats struct {
			TX struct {
				Bytes uint64 `json:"bytes"`
			} `json:"tx"`
		} `json:"stats64"`
	}
	out := portDelta{}
	for _, router := range r.lab.Scenario.Routers {
		text, err := r.lab.Capture(ctx, router.Name, "ip", "-s", "-j", "link", "show")
		if err != nil {
			return nil, err
		}
		links, err := decode[[]link](text)
		if err != nil {
			return nil, fmt.Errorf("read interface counters of %s: %w", router.Name, err)
		}
		for _, l := range links {
			out[port{router.Name, l.Name}] = l.Stats.TX.Bytes
		}
	}
	return out, nil
}

// queue is one queue's counters over day two, and rule one rule's.
type queue struct{ octets, packets, drops uint64 }

// readQueues reads what the routers streamed about queues and rules, once the
// last samples of day two have arrived.
func (r *run) readQueues(ctx context.Context) error {
	settle := 3 * time.Second // three samples of telemetry
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
	}
	queues := map[string]queue{} // router/port/queue
	matched := map[string]uint64{}
	for _, router := range r.lab.Scenario.Routers {
		answer, err := r.plane.Flows.Telemetry(ctx, connect.NewRequest(&flowv1.TelemetryRequest{
			Device: router.Name, From: timestamppb.New(r.phases["day2"].Start.Add(-settle)), To: timestamppb.Now(),
		}))
		if err != nil {
			return fmt.Errorf("read telemetry of %s: %w", router.Name, err)
		}
		for _, s := range answer.Msg.GetSeries() {
			if err := collect(s, queues, matched); err != nil {
				return err
			}
		}
	}
	r.judgeQueues(queues, matched)
	return nil
}

// collect adds one counter's growth to the queue or rule it belongs to.
func collect(s *flowv1.TelemetrySeries, queues map[string]queue, matched map[string]uint64) error {
	points := s.GetPoints()
	if len(points) == 0 {
		return nil
	}
	grown := points[len(points)-1].GetValue() - points[0].GetValue()
	path, err := gnmiclient.ParsePath(s.GetPath())
	if err != nil {
		return fmt.Errorf("telemetry path: %w", err)
	}
	keys := map[string]string{}
	for _, e := range path.GetElem() {
		maps.Copy(keys, e.GetKey())
	}
	leaf := path.GetElem()[len(path.GetElem())-1].GetName()
	switch {
	case strings.HasPrefix(s.GetPath(), "/qos/"):
		id := s.GetDevice() + "/" + keys["interface-id"] + "/" + keys["name"]
		q := queues[id]
		switch leaf {
		case "transmit-octets":
			q.octets += grown
		case "transmit-pkts":
			q.packets += grown
		case "dropped-pkts":
			q.drops += grown
		}
		queues[id] = q
	case leaf == "matched-pkts":
		matched[s.GetDevice()] += grown
	}
	return nil
}

// judgeQueues turns counters into the metrics the scenario's expectations name. Of a queue of which nothing was
// reported nothing can be claimed, also not that it stayed empty.
func (r *run) judgeQueues(queues map[string]queue, matched map[string]uint64) {
	for _, id := range slices.Sorted(maps.Keys(queues)) {
		part := strings.SplitN(id, "/", 3)
		q := queues[id]
		r.report.QueueCounters = append(r.report.QueueCounters, report.QueueCounter{
			Router: part[0], Port: part[1], Queue: part[2], Octets: q.octets, Packets: q.packets, Drops: q.drops,
		})
	}
	_, _, _, sent := measured(r.phases["day2"])
	day := r.ports["day2"]
	onPath, shortest := day[port{"WR", "ge-cr"}], day[port{"WR", "ge-er"}]
	r.metrics["external/alpha/on_lsp"] = float64(onPath) / sent
	r.metrics["external/alpha/on_shortest"] = float64(shortest) / sent
	r.metrics["external/alpha/next_hop_share"] = float64(day[port{"CR", "ge-er"}]) / float64(max(onPath, 1))
	if alpha, counted := queues["WR/ge-cr/te-alpha"]; counted {
		r.metrics["external/alpha/queue_share"] = float64(alpha.octets) / float64(max(onPath, 1))
		r.metrics["external/alpha/unmatched_packets"] = float64(alpha.packets+alpha.drops) - float64(matched["WR"])
	}
	if off, counted := queues["WR/ge-er/te-alpha"]; counted {
		r.metrics["external/alpha/queue_off_lsp"] = float64(off.packets)
	}
}
