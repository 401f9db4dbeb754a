package rpc

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/trace"
)

// waits are how long a client waits for a sign of life.
type waits struct {
	// dial is for a connection, and again for its TLS.
	dial time.Duration
	// A call may take minutes, so what is asked of a server that is silent for ping is whether it is there at all; it
	// has answer for that.
	ping, answer time.Duration
}

var patience = waits{dial: 5 * time.Second, ping: 5 * time.Second, answer: 5 * time.Second}

// Remote is a service in another process.
type Remote struct {
	Service string
	// Addresses are the base URLs of its replicas, without a slash at the end. Requests for the first of them are sent
	// to the first that answers.
	Addresses []string
	// TLS is what each of them has to prove; nil: there is no TLS.
	TLS *tls.Config
	Log *slog.Logger
	// FailedOver counts calls that went on from an address to another one.
	FailedOver func(address string)
}

// NewRemote is the client of a service in another process: HTTP/2, over TLS where that is set. It knows no proxy. A
// server that takes no connection or answers no ping fails the calls to it, however long they may take otherwise.
func NewRemote(r Remote) *http.Client { return newRemote(r, patience) }

func newRemote(r Remote, w waits) *http.Client {
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(r.TLS == nil)
	h2.SetHTTP2(r.TLS != nil)
	var to http.RoundTripper = &http.Transport{
		DialContext: (&net.Dialer{Timeout: w.dial}).DialContext, TLSClientConfig: r.TLS, TLSHandshakeTimeout: w.dial,
		Protocols: h2, IdleConnTimeout: 90 * time.Second, HTTP2: &http.HTTP2Config{SendPingTimeout: w.ping, PingTimeout: w.answer},
	}
	if len(r.Addresses) > 1 {
		to = &failover{
			service: r.Service, addresses: r.Addresses, next: to, log: r.Log, failedOver: r.FailedOver, asking: w.answer,
			known: make([]known, len(r.Addresses)),
		}
	}
	return &http.Client{Transport: trace.Transport(to)}
}
