// Package mtls keeps the certificate, the key, the CA and the CRL of one end of mutual TLS, and reads them again when
// their files change, so that certificates are renewed and withdrawn without a restart.
//
// In: PEM files.
// Out: TLS configurations whose handshakes go by the files as they are now; what is wrong with the files, and who was
// refused, in log, metric and event.
// Next: internal/device, services/vpn and the clients of etcd and Kafka as clients,
// services/routeragent and
// services/peagent as servers, services/nsi as both.
package mtls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millrace/millrace/internal/events"
)

// Files names PEM files.
type Files struct {
	// CA signed the other ends' certificates.
	CA string
	// Cert, with its intermediates, and Key are our own.
	Cert, Key string
	// CRL holds lists of revoked certificates; empty: none is revoked. Each list is signed by a certificate of CA.
	CRL string
	// CRLOverdue is what a list past its nextUpdate is good for: UseOverdue (default) or RefuseOverdue.
	CRLOverdue string
}

func (f Files) anonymous() bool { return f.Cert == "" }

// names are the files there are, in this order.
func (f Files) names() (out []string) {
	for _, name := range []string{f.CA, f.Cert, f.Key, f.CRL} {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Dependencies of Credentials. All may be left out.
type Dependencies struct {
	// Use names these files in log, metrics and events, such as "inventory".
	Use        string
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Events are published by Run.
	Events *events.Publisher
	// Now is the clock that certificates and CRLs are judged by.
	Now func() time.Time
}

// Credentials are the files' content. What cannot be used does not replace what could.
type Credentials struct {
	files   Files
	deps    Dependencies
	metrics *metrics
	inUse   atomic.Pointer[snapshot]
	notices chan notice
	// open are the connections of Listen, by *opened.
	open sync.Map

	// mu guards all fields below.
	mu      sync.Mutex
	watched watched
	// refused is why changed files are not in use.
	refused string
	// told are the problems of the files in use that were reported.
	told map[events.Kind]bool
	// strangers are the serial numbers of revoked certificates whose use was refused.
	strangers map[string]bool
}

// Times of looking at the files.
const (
	// lookEvery is how often the files are checked between handshakes, to report certificates that will
	// expire, and to end connections whose certificate is not good any more.
	lookEvery = 10 * time.Second
	// maxNotices wait for the bus; the log alone has what comes beyond.
	maxNotices = 64
)

// New reads the files. One that cannot be read or parsed is an error; a certificate that has expired is reported and
// used, because there is no better one.
func New(files Files, deps Dependencies) (*Credentials, error) {
	if files.Cert == "" || files.Key == "" {
		return nil, errors.New("the certificate and its key are both needed")
	}
	return open(files, deps)
}

// NewAnonymous is for a client without a certificate, which servers know by something else, such as a password.
func NewAnonymous(ca, crl string, deps Dependencies) (*Credentials, error) {
	return open(Files{CA: ca, CRL: crl}, deps)
}

func open(files Files, deps Dependencies) (*Credentials, error) {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if !slices.Contains([]string{"", UseOverdue, RefuseOverdue}, files.CRLOverdue) {
		return nil, fmt.Errorf("crl_overdue is %q; write %s or %s", files.CRLOverdue, UseOverdue, RefuseOverdue)
	}
	deps.Use = cmp.Or(deps.Use, "tls")
	c := &Credentials{
		files: files, deps: deps, metrics: newMetrics(deps.Use, !files.anonymous(), deps.Registerer), notices: make(chan notice, maxNotices),
		told: map[events.Kind]bool{}, strangers: map[string]bool{},
	}
	c.watched.files = files.names()
	contents, _, err := c.watched.read(true)
	if err != nil {
		return nil, err
	}
	s, err := parse(files, contents)
	if err != nil {
		return nil, err
	}
	c.inUse.Store(s)
	c.judge()
	return c, nil
}

// Run looks at the files every few seconds and publishes events until ctx ends.
func (c *Credentials) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-c.notices:
			c.deps.Events.Publish(ctx, n.kind, c.deps.Use, n.text)
		case <-tick.C:
			c.Look()
			c.expel()
		}
	}
}

// Look reads the files again if they have changed. Every handshake looks first.
func (c *Credentials) Look() {
	if c.look() {
		c.expel()
	}
}

// look is true if other files are in use now.
func (c *Credentials) look() (taken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	contents, changed, err := c.watched.read(c.refused != "") // one that was not valid yet may be by now
	if err == nil && !changed {
		c.judge()
		return false
	}
	s := (*snapshot)(nil)
	if err == nil {
		s, err = parse(c.files, contents)
	}
	if err == nil {
		err = s.usable(c.deps.Now())
	}
	if err != nil {
		c.refuse(err)
	} else {
		c.take(s)
	}
	c.judge()
	return err == nil
}

func (c *Credentials) current() *snapshot {
	c.Look()
	return c.inUse.Load()
}
