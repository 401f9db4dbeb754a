package state

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// DialOption changes how a cluster is reached.
type DialOption func(*dialling)

type dialling struct {
	tls       *tls.Config
	plaintext bool
	login     *login
}

// WithTLS is for endpoints that begin with https.
func WithTLS(c *tls.Config) DialOption { return func(d *dialling) { d.tls = c } }

// Plaintext allows endpoints on other hosts without TLS.
func Plaintext(d *dialling) { d.plaintext = true }

// As logs in as a user. Its password is called at each log-in, so that a new one counts without a restart.
func As(user string, password func() (string, error)) DialOption {
	return func(d *dialling) { d.login = &login{user: user, password: password} }
}

// Terms are what a connection is made under.
type Terms struct {
	// TLS: there are certificates. Plaintext allows other hosts without. User: a password is sent.
	TLS, Plaintext, User bool
}

// CheckEndpoints refuses URLs at which a host on the way could write: a record of etcd is what services act on,
// approvals included.
func CheckEndpoints(endpoints []string, t Terms) error {
	for _, e := range endpoints {
		u, err := url.Parse(e)
		switch {
		case strings.Contains(e, "@"): // it is not shown: clients write endpoints into logs
			return errors.New("an endpoint of etcd has a user in it: name that in etcd.username, and its password in etcd.password_file")
		case err != nil || !slices.Contains([]string{"http", "https", "unix"}, u.Scheme):
			return fmt.Errorf("etcd's endpoint %q is no URL such as https://192.0.2.1:2379", e)
		case u.Scheme == "https" && !t.TLS:
			return fmt.Errorf("etcd's endpoint %s is reached over TLS: name ca, and cert and key where etcd demands a certificate", e)
		case u.Scheme == "http" && t.User && !loopback(u.Hostname()):
			return fmt.Errorf("etcd's endpoint %s is not on this host, and the password would be sent to it as it is: use https", e)
		case u.Scheme == "http" && !t.Plaintext && !loopback(u.Hostname()):
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
	if err := CheckEndpoints(endpoints, Terms{TLS: d.tls != nil, Plaintext: d.plaintext, User: d.login != nil}); err != nil {
		return nil, err
	}
	back := newRewind()
	may := &permission{}
	intercept := []grpc.UnaryClientInterceptor{back.intercept, may.intercept}
	config := clientv3.Config{
		Endpoints: endpoints, DialTimeout: startTimeout, TLS: d.tls,
		// Without this, TCP would not notice a lost connection for minutes, and the reader of a watch would
		// stay behind. gRPC asks no more often; where there are several members, reach is sooner.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	}
	if d.login != nil {
		config.Username, config.Password, may.user = d.login.user, placeholder, d.login.user
		intercept = append(intercept, d.login.intercept)
	}
	life, end := context.WithCancel(context.Background())
	to := &reach{}
	how, err := to.begin(life, endpoints, d.tls)
	if err != nil {
		end()
		return nil, fmt.Errorf("connect to etcd at %v: %w", endpoints, err)
	}
	config.DialOptions = append(how, grpc.WithChainUnaryInterceptor(intercept...), grpc.WithStatsHandler(back))
	client, err := clientv3.New(config)
	if err != nil {
		end()
		return nil, fmt.Errorf("connect to etcd at %v: %w", endpoints, err)
	}
	s := newStore(client)
	s.end, s.reach = end, to
	s.rewind, s.login, s.permission = back, d.login, may
	return s, nil
}
