package topology

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/topo"
	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
)

// reading is what one reading looks at.
type reading struct {
	// of are the routers whose interfaces are read.
	of func(*router) bool
	// timeout bounds what one router may take; 0: the configuration's.
	timeout time.Duration
	// listens is set where routers are asked to tell of their ports from then on.
	listens bool
}

// requested is what somebody wants to see now, regular what is read in intervals.
var requested, regular = reading{of: everyone}, reading{of: due, listens: true}

func everyone(*router) bool { return true }

// due leaves out routers that did not answer and are to be left alone for a while.
func due(r *router) bool { return time.Now().After(r.next) }

// read is one reading: interfaces of some routers at once, then link-state databases from as few routers as show all
// areas.
func (c *Component) read(ctx context.Context, what reading) error {
	c.reading.Lock()
	defer c.reading.Unlock()
	started := time.Now()
	c.readInterfaces(ctx, what)
	areas, err := c.readAreas(ctx, what)
	interfaces := map[string][]topo.Interface{}
	for _, r := range c.routers {
		interfaces[r.device.Name] = r.interfaces
	}
	for _, s := range areas {
		err = errors.Join(err, c.publish(ctx, assemble(s, c.deps.Inventory, interfaces, c.cfg.Links)))
	}
	c.metrics.seconds.Observe(time.Since(started).Seconds())
	return err
}

func (c *Component) readInterfaces(ctx context.Context, what reading) {
	var wg sync.WaitGroup
	for _, r := range c.routers {
		if what.of(r) {
			wg.Go(func() { r.readInterfaces(ctx, what) })
		}
	}
	wg.Wait()
}

// readAreas reads the database of one router per area, or, where that router does not reach all of it, of others too.
func (c *Component) readAreas(ctx context.Context, what reading) ([]topo.Snapshot, error) {
	var read []database
	var errs []error
	for _, r := range c.routers {
		if r.err != nil || enough(read, r.device.Loopback) {
			continue
		}
		areas, err := r.readTED(ctx, what)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.device.Name, err))
			continue
		}
		for _, s := range areas {
			s.Source = r.device.Name
			read = append(read, newDatabase(s, r.device.Loopback))
		}
	}
	if len(read) > 0 {
		if len(errs) > 0 {
			c.deps.Log.WarnContext(ctx, "some routers show no link-state database; others do", "error", errors.Join(errs...))
		}
		return believed(read), nil
	}
	return nil, errors.Join(append([]error{errors.New("no router shows a link-state database")}, errs...)...)
}

// publish sends a snapshot if anything but its time and source changed, or if the last one is old.
func (c *Component) publish(ctx context.Context, s topo.Snapshot) error {
	last, known := c.published[s.Area]
	s.Time = time.Now()
	if known && same(last, s) && s.Time.Sub(last.Time) < c.cfg.Republish {
		return nil
	}
	if err := c.deps.Bus.Publish(ctx, bus.TopicTopology, s.Area, s.ToProto()); err != nil {
		return fmt.Errorf("publish the topology of area %s: %w", s.Area, err)
	}
	c.published[s.Area] = s
	c.metrics.published.WithLabelValues(s.Area).Inc()
	c.metrics.nodes.WithLabelValues(s.Area).Set(float64(len(s.Nodes)))
	c.metrics.links.WithLabelValues(s.Area).Set(float64(len(s.Links)))
	for _, n := range diff(last, s) {
		c.tell(ctx, n.kind, n.subject, n.text)
	}
	return nil
}

func same(a, b topo.Snapshot) bool {
	return proto.Equal(timeless(a), timeless(b))
}

func timeless(s topo.Snapshot) *topologyv1.TopologySnapshot {
	m := s.ToProto()
	m.Time, m.Source = nil, ""
	return m
}
