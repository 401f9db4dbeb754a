package mtls

import (
	"crypto/x509"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// TestAConnectionEndsOnce: Run and a handshake may both find that its certificate is good no more.
func TestAConnectionEndsOnce(t *testing.T) {
	ca := pki.New(t)
	server := newEnd(t, ca, "router", false)
	server.ahead = 48 * time.Hour
	sent := []*x509.Certificate{leaf(t, server.files.Cert)}
	const connections = 200
	for range connections {
		conn, other := net.Pipe()
		t.Cleanup(func() { other.Close() })
		server.open.Store(&opened{Conn: conn, of: server.Credentials, sent: sent}, nil)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(server.expel)
	}
	all.Wait()
	n := testutil.ToFloat64(server.Credentials.metrics.ended.WithLabelValues(reasonExpired))
	if n != connections || server.log.count("peer-ended") != connections {
		t.Errorf("%v counted and %d reported of %d", n, server.log.count("peer-ended"), connections)
	}
}
