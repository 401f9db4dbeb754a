// Package flow is the flow collector.
//
// In: NetFlow v5, v9, IPFIX and sFlow v5 datagrams from routers over UDP, records that
// other collectors write to topics of Kafka, records read from nfcapd files, and hosts'
// fireflies. Out: FlowBatch on the bus, keyed by exporter, with what each hour of the
// exporter lacks, or by host, with its tags, and each exporter's health at the moment.
// Next: services/flowstore.
package flow

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/events"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// Dependencies of the collector.
type Dependencies struct {
	Bus bus.Bus
	// State is where collectors tell each other templates and rates, for exporters that move; nil: they do not.
	State *state.Store
	// Kafka is the cluster of some brokers, or of the default ones, for topics; nil: there are none.
	Kafka func(brokers []string) (bus.KafkaConfiguration, error)
	// Inventory lists the exporters that are heard, unless the configuration says any.
	Inventory  *device.Inventory
	Log        *slog.Logger
	Registerer prometheus.Registerer // may be nil
}

// Component is the collector.
type Component struct {
	cfg     Configuration
	deps    Dependencies
	metrics *metrics
	table   *exporter.Table
	batcher *batcher
	sockets []*socket
	sources []*source
	// fireflies are what hosts say of their transfers.
	fireflies *fireflies
	counts    [][]*socketCounts // of each listening address, by worker
	own       ownHours
	// strangers is how many datagrams of unlisted addresses were logged.
	strangers uint64
	events    *events.Publisher
	told      loss   // by events
	saved     []byte // the state as it is in its file
	common    common

	loops     lifecycle.Loops // the sockets' readers and the regular flush
	publisher sync.WaitGroup
	abort     context.CancelFunc // of publishing; nil while stopped
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Component{cfg: cfg, deps: deps}
	c.table = exporter.NewTable(cfg.Exporters, inInventory(deps), cfg.Workers)
	for _, address := range cfg.Listen {
		var counts []*socketCounts
		for w := range cfg.Workers {
			counts = append(counts, &socketCounts{listen: address, worker: w})
		}
		c.counts = append(c.counts, counts)
	}
	var err error
	if c.fireflies, err = newFireflies(c, cfg.Fireflies); err != nil {
		return nil, err
	}
	c.metrics = newMetrics(deps.Registerer, c)
	c.batcher = newBatcher(cfg, deps, c.metrics)
	c.events = events.NewPublisher(deps.Bus, deps.Log)
	if err := c.newSources(); err != nil {
		return nil, err
	}
	return c, nil
}

// inInventory is a set, since it is asked for every datagram.
func inInventory(deps Dependencies) func(netip.Addr) bool {
	known := map[netip.Addr]bool{}
	if deps.Inventory != nil {
		for _, d := range deps.Inventory.Devices {
			for _, e := range d.Exporters {
				known[e] = true
			}
		}
	}
	return func(a netip.Addr) bool { return known[a.Unmap()] }
}

// Start listens on all addresses.
func (c *Component) Start(ctx context.Context) error {
	c.restoreState(time.Now())
	for i, address := range c.cfg.Listen {
		sockets, err := listenAll(ctx, address, c.cfg.ReceiveBuffer, c.counts[i])
		if err != nil {
			return errors.Join(err, closeAll(c.sockets))
		}
		c.sockets = append(c.sockets, sockets...)
		c.deps.Log.Info("listening for flows", "address", sockets[0].address().String(), "workers", len(sockets), "receive_buffer_bytes", sockets[0].receiveBuffer())
	}
	if err := c.fireflies.listen(ctx); err != nil {
		return errors.Join(err, closeAll(c.sockets), closeAll(c.fireflies.sockets))
	}
	publish, abort := context.WithCancel(context.WithoutCancel(ctx))
	c.abort = abort
	c.publisher.Go(func() { c.batcher.publish(publish) })
	c.loops.Start(ctx)
	c.loops.Every(c.cfg.BatchInterval, func(context.Context) { c.flush() })
	c.loops.Every(warnEvery, func(context.Context) { c.warnOfStrangers() })
	c.loops.Every(tellEvery, c.tellOfLoss)
	c.loops.Every(saveEvery, func(context.Context) { c.saveState() })
	if c.deps.State != nil {
		c.loops.Every(shareEvery, c.tellOthers)
		c.loops.Go(c.hearOthers)
	}
	for _, s := range c.sockets {
		c.loops.Go(func(context.Context) { c.receive(s) })
	}
	for _, s := range c.fireflies.sockets {
		c.loops.Go(func(context.Context) { c.fireflies.receive(s) })
	}
	for _, s := range c.sources {
		c.loops.Go(s.reader.Run)
	}
	return nil
}

// receive runs until the socket is closed.
func (c *Component) receive(s *socket) {
	var out []flowrecord.Record
	for {
		in, dropped, err := s.read()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			c.deps.Log.Warn("receive flows", "address", s.address().String(), "error", err)
			time.Sleep(retryPause) // so that a broken socket does not spin
			continue
		}
		now := time.Now()
		s.counts.datagrams.Add(uint64(len(in)))
		s.counts.drops.Add(uint64(dropped))
		c.own.count(now, len(in), dropped)
		out = c.take(s.counts.worker, in, now, out)
	}
}

// take hands on what datagrams hold, so many at a time that out, its memory, does not grow beyond readRecords or what
// one holds.
func (c *Component) take(worker int, in []exporter.Datagram, now time.Time, out []flowrecord.Record) []flowrecord.Record {
	for len(in) > 0 {
		n, octets := 1, len(in[0].Payload)
		for ; n < len(in) && octets+len(in[n].Payload) <= readRecords*smallestFlow; n++ {
			octets += len(in[n].Payload)
		}
		out = c.table.Take(in[:n], now, out[:0])
		c.batcher.add(worker, out)
		in = in[n:]
	}
	return out
}

// warnEvery is how often the log names an address that is not heard, while one sends.
const warnEvery = 10 * time.Second

// warnOfStrangers helps an operator who has pointed a router here and forgotten to list it.
func (c *Component) warnOfStrangers() {
	from, sent := c.table.Stranger()
	if sent > c.strangers {
		c.deps.Log.Warn("datagrams of an address that is no exporter of the inventory are not taken; list it there, or set flow.exporters.accept_unlisted",
			"last", from.String(), "datagrams", sent-c.strangers)
	}
	c.strangers = sent
}

// flush publishes what waits.
func (c *Component) flush() { c.batcher.flush(c.hours(time.Now())) }

// hours are those in which something changed. The collector's own wait while a topic is not read: an hour counts as
// listened to once none holds back its records.
func (c *Component) hours(now time.Time) []exporter.Hour {
	out := c.table.Hours()
	if slices.ContainsFunc(c.sources, func(s *source) bool { return !s.reader.Reading() }) {
		return out
	}
	c.own.listen(now)
	return append(out, c.own.changed()...)
}

// Listening are the addresses in use, with the ports the kernel chose.
func (c *Component) Listening() []netip.AddrPort {
	var all []netip.AddrPort
	for _, s := range c.sockets {
		if s.counts.worker == 0 {
			all = append(all, s.address())
		}
	}
	return all
}

// dropped is how many datagrams the kernel had no room for.
func (c *Component) dropped() (n uint64) {
	for _, counts := range slices.Concat(c.counts...) {
		n += counts.drops.Load()
	}
	return n
}

// Published is the number of records from datagrams and topics that the bus took.
func (c *Component) Published() uint64 { return c.batcher.published.Load() }

// Stop stops listening and publishes what was received before, as far as ctx allows.
func (c *Component) Stop(ctx context.Context) error {
	if c.abort == nil {
		return nil
	}
	defer context.AfterFunc(ctx, c.abort)()
	err := errors.Join(closeAll(c.sockets), closeAll(c.fireflies.sockets))
	// The end of ctx aborts publishing, which lets the loops end. They
	// must, because the channel they fill is closed next.
	err = errors.Join(err, c.loops.Stop(context.WithoutCancel(ctx)))
	c.saveState()
	c.flush()
	c.batcher.close()
	c.publisher.Wait()
	c.abort()
	c.tellOfLoss(context.WithoutCancel(ctx))
	c.abort = nil
	return err
}

// Handler serves FlowCollectorService.
func (c *Component) Handler() (string, http.Handler) {
	return flowv1connect.NewFlowCollectorServiceHandler(&api{c}, rpc.Bounded(rpc.MaxRequest, c.about))
}
