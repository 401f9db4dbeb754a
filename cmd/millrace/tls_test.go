package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/testkit/pki"
)

// What a file says of TLS is whole, or refused with the key that is missing.
func TestTLSSettings(t *testing.T) {
	const (
		all   = "tls: {ca: c, cert: t, key: k}\n"
		https = "endpoints: {push: 'https://192.0.2.1:7007'}\n"
		http  = "endpoints: {push: 'http://192.0.2.1:7007'}\n"
		twice = "tls: {insecure_plaintext: true, insecure_plaintext_accepts: any host on the way can act as any service}\n"
	)
	for text, says := range map[string]string{
		"endpoints: {push: 'http://127.0.0.1:7007'}":                "",
		"endpoints: {push: 'http://localhost:7007'}":                "",
		"endpoints: {push: ''}":                                     "",
		all + https:                                                 "",
		"tls: {folder: f}\n" + https:                                "",
		"tls: {folder: '/etc/tls/{service}', key: other}\n" + https: "",
		http: "services on other hosts are called over TLS; set tls.folder",
		"endpoints: {push: 'http://127.0.0.1.example.net:7007'}": "services on other hosts are called over TLS",
		https:                               "tls is not set",
		all + http:                          "write https",
		"endpoints: {push: '127.0.0.1:1'}":  "write the URL",
		"endpoints: {push: 'ftp://a'}":      "write the URL",
		"tls: {cert: t, key: k}\n" + https:  "tls.ca is missing",
		"tls: {ca: c, key: k}\n" + https:    "tls.cert is missing",
		"tls: {ca: c, cert: t}\n" + https:   "tls.key is missing",
		"tls: {crl: c}":                     "tls.crl is set without",
		"tls: {domain: Mill_race}":          "tls.domain",
		"tls: {domain: ''}":                 "tls.domain",
		twice + http:                        "",
		"tls: {insecure_plaintext: true}\n": "needs two keys",
		"tls: {insecure_plaintext: true, insecure_plaintext_accepts: yes}\n":                                                           "needs two keys",
		"tls: {insecure_plaintext_accepts: any host on the way can act as any service}\n":                                              "needs two keys",
		"tls: {folder: f, insecure_plaintext: true, insecure_plaintext_accepts: any host on the way can act as any service}\n" + https: "beside certificates",
	} {
		file := filepath.Join(t.TempDir(), "millrace.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(file); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}

// All services of a host share one file, and each has its own certificate.
func TestFilesOfAService(t *testing.T) {
	cfg := configured(t, "tls: {folder: '/etc/millrace/tls/{service}', crl: crl.pem}\n")
	got := cfg.TLS.files("push")
	if got.Cert != "/etc/millrace/tls/push/tls.crt" || got.Key != "/etc/millrace/tls/push/tls.key" || got.CA != "/etc/millrace/tls/push/ca.crt" || !filepath.IsAbs(got.CRL) {
		t.Errorf("%+v", got)
	}
}

// A process does not start with a certificate that its peers would refuse.
func TestAServiceHasItsOwnCertificate(t *testing.T) {
	ca := pki.New(t)
	for name, tt := range map[string]struct {
		hosts []string
		says  string
	}{
		"its own":       {[]string{"push.millrace", "push.example.net"}, ""},
		"another's":     {[]string{"alpha.millrace"}, "tls.cert is the certificate of alpha, and this is push: it needs the DNS name push.millrace"},
		"a host's":      {[]string{"192.0.2.1"}, "names no service"},
		"a wildcard":    {[]string{"*.millrace"}, "must name one service"},
		"two":           {[]string{"push.millrace", "alpha.millrace"}, "push and alpha.millrace: it must name one service"},
		"another plane": {[]string{"push.staging"}, "names no service"},
	} {
		t.Run(name, func(t *testing.T) {
			cert, key := ca.Issue(t, "push", tt.hosts...)
			p := serving(t, "push")
			p.name, p.cfg = "push", configured(t, "tls: {ca: "+ca.CA+", cert: "+cert+", key: "+key+"}\n")
			err := p.openTLS()
			defer p.close(t.Context())
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}

// Ports that other hosts reach need TLS, and logins need it everywhere.
func TestWhereAServiceListens(t *testing.T) {
	const (
		shared = "identity: {mode: off}\nkafka: {brokers: ['127.0.0.1:1']}\n"
		plain  = shared + "endpoints: {paths: 'http://127.0.0.1:0'}\n"
		twice  = shared + "endpoints: {paths: ['http://127.0.0.1:1', 'http://localhost:1']}\n"
		secure = shared + "endpoints: {paths: 'https://paths.example.net:7005'}\ntls: {folder: f}\n"
	)
	for name, tt := range map[string]struct{ text, listen, says string }{
		"the endpoint":           {plain, "", ""},
		"elsewhere on the host":  {plain, "127.0.0.2:0", ""},
		"all addresses":          {plain, ":0", "where other hosts reach paths without TLS"},
		"another address":        {plain, "192.0.2.1:0", "where other hosts reach paths without TLS"},
		"all addresses with TLS": {secure, "127.0.0.1:0", ""},
		"no port":                {plain, "127.0.0.1", "--listen"},
		"two of this host":       {twice, "", "several of endpoints.paths are addresses of this host"},
		"one of two":             {twice, "127.0.0.1:0", ""},
		"no endpoint":            {shared, "127.0.0.1:0", "endpoints.paths is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := serveListener(configured(t, tt.text), "paths", tt.listen)
			if err == nil {
				l.Close()
			}
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
	for text, refused := range map[string]bool{"data_dir: d": true, "identity: {mode: on}": true, "identity: {mode: off}": false, "identity: {mode: on}\ntls: {folder: f}": false} {
		if err := provesCallers(configured(t, text)); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A process that anybody on other hosts may use without a login says so.
func TestOpenToOtherHosts(t *testing.T) {
	for _, tt := range []struct {
		address   string
		everybody bool
		want      bool
	}{
		{"127.0.0.1:8080", true, false},
		{"localhost:8080", true, false},
		{"[::1]:8080", true, false},
		{"[::]:8080", true, true},
		{":8080", true, true},
		{"192.0.2.1:8080", true, true},
		{"192.0.2.1:7007", false, false}, // services by their certificates only
	} {
		if got := openAt(tt.address, tt.everybody); got != tt.want {
			t.Errorf("%s, everybody %v: %v", tt.address, tt.everybody, got)
		}
	}
}
