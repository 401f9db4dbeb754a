// Package flow is the flow collector.
//
// In: NetFlow v5, v9 and IPFIX datagrams from routers over UDP, and records
// read from nfcapd files. Out: FlowBatch on the bus, keyed by exporter, and per
// exporter how far it can be trusted. Next: services/flowstore.
package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// Dependencies of the collector.
type Dependencies struct {
	Bus        bus.Bus
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
	drops   atomic.Uint64 // datagrams the kernel had no room for

	cancel    context.CancelFunc // of the regular flush
	abort     context.CancelFunc // of publishing
	readers   sync.WaitGroup
	flusher   sync.WaitGroup
	publisher sync.WaitGroup
}

// New is inert.
func New(cfg Configuration, deps Dependencies) *Component {
	c := &Component{cfg: cfg, deps: deps, table: exporter.NewTable(cfg.Exporters, decode.GoFlow2{})}
	c.metrics = newMetrics(deps.Registerer, c)
	c.batcher = newBatcher(cfg, deps, c.metrics)
	return c
}

// Start listens on all addresses.
func (c *Component) Start(ctx context.Context) error {
	if err := c.cfg.check(); err != nil {
		return fmt.Errorf("configuration of the flow collector: %w", err)
	}
	for _, address := range c.cfg.Listen {
		s, err := listen(ctx, address, c.cfg.ReceiveBuffer)
		if err != nil {
			return errors.Join(err, c.closeSockets())
		}
		c.sockets = append(c.sockets, s)
		c.deps.Log.Info("listening for flows", "address", s.address().String(), "receive_buffer_bytes", s.receiveBuffer())
	}
	background := context.WithoutCancel(ctx)
	flush, cancel := context.WithCancel(background)
	publish, abort := context.WithCancel(background)
	c.cancel, c.abort = cancel, abort
	c.publisher.Go(func() { c.batcher.publish(publish) })
	c.flusher.Go(func() { c.batcher.flushRegularly(flush) })
	for _, s := range c.sockets {
		c.readers.Go(func() { c.receive(s) })
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
		c.drops.Add(uint64(dropped))
		out = c.table.Take(in, time.Now(), out[:0])
		c.batcher.add(out)
	}
}

// Listening are the addresses in use, with the ports the kernel chose.
func (c *Component) Listening() []netip.AddrPort {
	all := make([]netip.AddrPort, len(c.sockets))
	for i, s := range c.sockets {
		all[i] = s.address()
	}
	return all
}

// Published is the number of records from datagrams that the bus took.
func (c *Component) Published() uint64 { return c.batcher.published.Load() }

// Stop stops listening and publishes what was received before.
func (c *Component) Stop(ctx context.Context) error {
	if c.cancel == nil {
		return nil
	}
	defer context.AfterFunc(ctx, c.abort)()
	err := c.closeSockets()
	c.readers.Wait()
	c.cancel()
	c.flusher.Wait()
	c.batcher.flush()
	close(c.batcher.full)
	c.publisher.Wait()
	c.abort()
	c.cancel = nil
	return err
}

func (c *Component) closeSockets() error {
	var errs []error
	for _, s := range c.sockets {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// Handler serves FlowCollectorService.
func (c *Component) Handler() (string, http.Handler) {
	return flowv1connect.NewFlowCollectorServiceHandler(&api{c})
}
