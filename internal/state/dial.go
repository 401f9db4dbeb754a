package state

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// DialOption changes how a cluster is reached.
type DialOption func(*dialling)

type dialling struct {
	tls       *tls.Config
	plaintext bool
}

// WithTLS is for endpoints that begin with https.
func WithTLS(c *tls.Config) DialOption { return func(d *dialling) { d.tls = c } }

// Plaintext allows endpoints on other hosts without TLS.
func Plaintext(d *dialling) { d.plaintext = true }

// CheckEndpoints refuses URLs at which a host on the way could write: a record of etcd is what services act on,
// approvals included.
func CheckEndpoints(endpoints []string, withTLS, plaintext bool) error {
	for _, e := range endpoints {
		u, err := url.Parse(e)
		switch {
		case err != nil || !slices.Contains([]string{"http", "https", "unix"}, u.Scheme):
			return fmt.Errorf("etcd's endpoint %q is no URL such as https://192.0.2.1:2379", e)
		case u.Scheme == "https" && !withTLS:
			return fmt.Errorf("etcd's endpoint %s is reached over TLS: name ca, cert and key", e)
		case u.Scheme == "http" && !plaintext && !loopback(u.Hostname()):
			return fmt.Errorf("etcd's endpoint %s is not on this host: use https, or allow plaintext", e)
		}
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Dial connects to an etcd cluster elsewhere (production, or `serve` beside `up`).
func Dial(endpoints []string, options ...DialOption) (*Store, error) {
	var d dialling
	for _, o := range options {
		o(&d)
	}
	if err := CheckEndpoints(endpoints, d.tls != nil, d.plaintext); err != nil {
		return nil, err
	}
	back := newRewind()
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: startTimeout, TLS: d.tls,
		// Without this, TCP would not notice a lost connection for minutes, and the reader of a watch would
		// stay behind.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(back.intercept), grpc.WithStatsHandler(back)},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd at %v: %w", endpoints, err)
	}
	s := newStore(client)
	s.rewind = back
	return s, nil
}
