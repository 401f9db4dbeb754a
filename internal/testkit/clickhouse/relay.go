package clickhouse

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/testkit/ports"
)

// relay is the way of one server to ZooKeeper, which breaks off where a test wants it to.
type relay struct {
	addr, to string
	loses    atomic.Bool
	// worker: the server's thread for statements ON CLUSTER has begun. A server of 18.16 listens before that, and ends
	// by a null pointer at a statement that comes too early.
	worker atomic.Bool
}

func newRelay(t testing.TB, to string) *relay {
	t.Helper()
	r := &relay{addr: ports.Loopback(t), to: to}
	listener, err := net.Listen("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			server, err := listener.Accept()
			if err != nil {
				return
			}
			go r.join(server)
		}
	}()
	return r
}

// join ends both connections with the first of them.
func (r *relay) join(server net.Conn) {
	defer server.Close()
	zookeeper, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer zookeeper.Close()
	go func() {
		defer server.Close()
		io.Copy(server, zookeeper) //nolint:errcheck // it ends with either connection
	}()
	io.Copy(listening{zookeeper, r}, server) //nolint:errcheck // as above
}

// listening notes the worker's first request, which makes its queue, and breaks off before one that enters a part into
// a table's log.
type listening struct {
	io.Writer
	*relay
}

func (l listening) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("/log/log-")) && bytes.Contains(p, []byte("\nget\n")) && l.loses.CompareAndSwap(true, false) {
		return 0, io.ErrClosedPipe
	}
	if bytes.Contains(p, []byte(queue)) {
		l.worker.Store(true)
	}
	return l.Writer.Write(p)
}

// LoseNextEntry has the server lose its connection to ZooKeeper at the next insert, after it wrote the part to its disk
// and before ZooKeeper hears of it.
func (s *Server) LoseNextEntry() { s.relay.loses.Store(true) }

// LostEntry reports whether that has happened.
func (s *Server) LostEntry() bool { return !s.relay.loses.Load() }
