package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
)

// broken is a connection whose other end is gone, which its reader has not seen yet.
type broken struct {
	net.Conn
	// takes is how many writes it still takes; less than 0: all.
	takes atomic.Int64
}

func (b *broken) Write(p []byte) (int, error) {
	if b.takes.Load() == 0 {
		return 0, syscall.EPIPE
	}
	b.takes.Add(-1)
	return b.Conn.Write(p)
}

// A server whose connection ends while a call is being written has not done it: it has the call in parts only. That is
// not said of streams, of which a server may do the first part.
func TestACallThatWasNotWrittenGoesOn(t *testing.T) {
	for name, takes := range map[string]int64{"nothing is written": 0, "headers are written": 1} {
		for _, procedure := range []string{reads, changes, flowv1connect.FlowCollectorServiceImportProcedure} {
			for _, only := range []bool{false, true} {
				t.Run(fmt.Sprint(name, procedure, only), func(t *testing.T) {
					first, second := started(t), started(t)
					var connection atomic.Pointer[broken]
					c := &calling{base: first.URL, from: map[string]int{}}
					c.Client = &http.Client{Transport: &failover{
						service: "push", addresses: []string{first.URL, second.URL}, log: slog.New(slog.DiscardHandler),
						failedOver: func(address string) { c.from[address]++ }, asking: patience.answer, known: make([]known, 2),
						next: &http.Transport{Protocols: onlyHTTP2(), DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
							conn, err := new(net.Dialer).DialContext(ctx, network, address)
							if err != nil {
								return nil, err
							}
							b := &broken{Conn: conn}
							b.takes.Store(-1)
							connection.CompareAndSwap(nil, b)
							return b, nil
						}},
					}}
					if _, err := c.call(t.Context(), procedure, "a body", only); err != nil {
						t.Fatal(err)
					}
					connection.Load().takes.Store(takes)
					said, err := c.call(t.Context(), procedure, "a body", only)
					if procedure == flowv1connect.FlowCollectorServiceImportProcedure {
						if err == nil || second.calls.Load() != 0 {
							t.Errorf("part of a stream was sent again: %q", said)
						}
						return
					}
					if want := "a body at " + procedure + " <nil>"; err != nil || said != want || second.calls.Load() != 1 {
						t.Errorf("%q %v, %d calls of the second", said, err, second.calls.Load())
					}
				})
			}
		}
	}
}

func onlyHTTP2() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}
