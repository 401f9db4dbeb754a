package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/pki"
)

func TestServiceOfACertificate(t *testing.T) {
	for name, tt := range map[string]struct {
		names []string
		want  string
	}{
		"one":                          {[]string{"push.millrace"}, "push"},
		"beside names of hosts":        {[]string{"noc.example.net", "push.millrace", "push.pe.millrace"}, "push"},
		"twice the same":               {[]string{"push.millrace", "push.millrace"}, "push"},
		"none":                         {nil, ""},
		"two":                          {[]string{"push.millrace", "alpha.millrace"}, ""},
		"all":                          {[]string{"*.millrace"}, ""},
		"one and all":                  {[]string{"push.millrace", "*.millrace"}, ""},
		"of another domain":            {[]string{"push.staging"}, ""},
		"a domain that ends like ours": {[]string{"push.notmillrace"}, ""},
		"the domain alone":             {[]string{".millrace", "millrace"}, ""},
	} {
		got, err := Service(&x509.Certificate{DNSNames: tt.names, Subject: pkix.Name{CommonName: "push"}}, "millrace")
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A client of one service takes the certificate of that service only, of its CA, while it is valid.
func TestNaming(t *testing.T) {
	ca, other, now := pki.New(t), pki.New(t), time.Now()
	files := func(a *pki.Authority, from, until time.Time, names ...string) (string, string) {
		return a.IssueBetween(t, from, until, pkix.Name{CommonName: "server"}, names...)
	}
	cert, key := ca.Issue(t, "client", "alpha.millrace")
	client, err := New(Files{CA: ca.CA, Cert: cert, Key: key}, Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		a     *pki.Authority
		ends  time.Duration
		names []string
		says  string
	}{
		"the service":     {ca, time.Hour, []string{"push.millrace"}, ""},
		"another service": {ca, time.Hour, []string{"alpha.millrace"}, "valid for alpha.millrace, not push.millrace"},
		"the host's name": {ca, time.Hour, []string{"192.0.2.1", "localhost"}, "not push.millrace"},
		"every service":   {ca, time.Hour, []string{"*.millrace"}, "a wildcard names no service"},
		"expired":         {ca, -time.Minute, []string{"push.millrace"}, "expired"},
		"of another CA":   {other, time.Hour, []string{"push.millrace"}, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			pair, err := tls.LoadX509KeyPair(files(tt.a, now.Add(-time.Hour), now.Add(tt.ends), tt.names...))
			if err != nil {
				t.Fatal(err)
			}
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				if far, err := l.Accept(); err == nil {
					_ = far.(*tls.Conn).Handshake() // the client's error is looked at
					far.Close()
				}
			}()
			near, err := tls.Dial("tcp", l.Addr().String(), client.Naming("push.millrace"))
			if err == nil {
				near.Close()
			}
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}
