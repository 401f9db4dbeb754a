package rpc

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/millrace/millrace/internal/trace"
)

const (
	dialTimeout = 5 * time.Second
	// A call may take minutes, so what is asked of a server that is silent for pingAfter is whether it is there at
	// all.
	pingAfter  = 15 * time.Second
	pingAnswer = 15 * time.Second
)

// NewRemote is the client of a service in another process: HTTP/2, over TLS where creds are not nil. It knows no proxy.
// A server that takes no connection or answers no ping fails the calls to it, however long they may take otherwise.
func NewRemote(creds *tls.Config) *http.Client { return newRemote(creds, pingAfter, pingAnswer) }

func newRemote(creds *tls.Config, after, answer time.Duration) *http.Client {
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(creds == nil)
	h2.SetHTTP2(creds != nil)
	return &http.Client{Transport: trace.Transport(&http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSClientConfig: creds, TLSHandshakeTimeout: dialTimeout,
		Protocols: h2, IdleConnTimeout: 90 * time.Second, HTTP2: &http.HTTP2Config{SendPingTimeout: after, PingTimeout: answer},
	})}
}
