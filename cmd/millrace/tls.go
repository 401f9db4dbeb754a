package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/mtls"
	"github.com/millrace/millrace/internal/rpc"
)

// tlsConfig is mutual TLS between services, and TLS of the dashboard's port.
type tlsConfig struct {
	// Folder has tls.crt, tls.key and ca.crt, as cert-manager writes them. {service} in it stands for the service's
	// name, so that all services of a host share this file. Default none: services talk in plain text.
	Folder string `yaml:"folder"`
	// CA signed the certificates of all services; Cert, with its intermediates, and Key are this service's own. PEM
	// files, relative to this file; each may have {service}, too. Default: those of Folder.
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CRL is a file with lists of revoked certificates; empty: none is revoked.
	CRL string `yaml:"crl"`
	// CRLOverdue is what a list past its nextUpdate is good for: use, or refuse, which refuses every certificate of its
	// CA. Default use.
	CRLOverdue string `yaml:"crl_overdue"`
	// Domain is what follows the service's name in its certificate's DNS name: push.millrace. Two installations
	// with one CA need two. Default millrace.
	Domain string `yaml:"domain"`
	// InsecurePlaintext lets services on several hosts talk without TLS, if InsecurePlaintextAccepts says so too.
	// Default false.
	InsecurePlaintext bool `yaml:"insecure_plaintext"`
	// InsecurePlaintextAccepts must be this sentence: any host on the way can act as any service.
	InsecurePlaintextAccepts string `yaml:"insecure_plaintext_accepts"`
}

// Files that cert-manager writes into a secret.
const (
	tlsCert = "tls.crt"
	tlsKey  = "tls.key"
	tlsCA   = "ca.crt"
)

// serviceMark stands for the name of the service in paths.
const serviceMark = "{service}"

// plaintextConsequence is what the second key has to say: one switch is copied without being read.
const plaintextConsequence = "any host on the way can act as any service"

// on reports whether services use TLS.
func (c tlsConfig) on() bool { return c.Folder != "" || c.CA != "" || c.Cert != "" || c.Key != "" }

// relativeTo completes the files from the folder, and paths from that of the configuration.
func (c *tlsConfig) relativeTo(folder string) {
	if c.Folder != "" {
		c.CA = cmp.Or(c.CA, filepath.Join(c.Folder, tlsCA))
		c.Cert = cmp.Or(c.Cert, filepath.Join(c.Folder, tlsCert))
		c.Key = cmp.Or(c.Key, filepath.Join(c.Folder, tlsKey))
	}
	for _, file := range []*string{&c.CA, &c.Cert, &c.Key, &c.CRL} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(folder, *file)
		}
	}
}

// files are those of one service.
func (c tlsConfig) files(service string) mtls.Files {
	of := func(file string) string { return strings.ReplaceAll(file, serviceMark, service) }
	return mtls.Files{CA: of(c.CA), Cert: of(c.Cert), Key: of(c.Key), CRL: of(c.CRL), CRLOverdue: c.CRLOverdue}
}

// check refuses half a configuration, and endpoints that it does not fit.
func (c tlsConfig) check(endpoints map[string]addresses) error {
	for _, f := range []struct{ key, file string }{{"ca", c.CA}, {"cert", c.Cert}, {"key", c.Key}} {
		if c.on() && f.file == "" {
			return fmt.Errorf("tls.%s is missing: name ca, cert and key, or a folder that has %s, %s and %s", f.key, tlsCA, tlsCert, tlsKey)
		}
	}
	if !c.on() && c.CRL != "" {
		return errors.New("tls.crl is set without tls.ca, tls.cert and tls.key")
	}
	if c.Domain == "" || strings.Trim(c.Domain, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.HasPrefix(c.Domain, ".") {
		return fmt.Errorf("tls.domain is %q; write a DNS name in lower case, such as millrace", c.Domain)
	}
	if c.InsecurePlaintext != (c.InsecurePlaintextAccepts == plaintextConsequence) || !c.InsecurePlaintext && c.InsecurePlaintextAccepts != "" {
		return fmt.Errorf("plain text between hosts needs two keys: tls.insecure_plaintext: true, and tls.insecure_plaintext_accepts: %s", plaintextConsequence)
	}
	if c.InsecurePlaintext && c.on() {
		return errors.New("tls.insecure_plaintext is set beside certificates; remove one of them")
	}
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		for _, endpoint := range endpoints[name] {
			if err := c.checkEndpoint(name, endpoint); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkEndpoint refuses a URL at which a host on the way could write.
func (c tlsConfig) checkEndpoint(name, endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("endpoints.%s is %q: write the URL at which others reach this service, such as https://192.0.2.1:7001", name, endpoint)
	case c.on() && u.Scheme != "https":
		return fmt.Errorf("endpoints.%s is %s, and tls is set: write https", name, endpoint)
	case !c.on() && u.Scheme == "https":
		return fmt.Errorf("endpoints.%s is %s, and tls is not set: name tls.folder, or tls.ca, tls.cert and tls.key", name, endpoint)
	case u.Scheme == "http" && !c.InsecurePlaintext && !loopback(u.Hostname()):
		return fmt.Errorf("endpoints.%s is %s: services on other hosts are called over TLS; set tls.folder (`millrace ca` makes certificates) and write https", name, endpoint)
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// openTLS reads the certificate of this process, which must name it: its peers would refuse it otherwise.
func (p *process) openTLS() error {
	if !p.cfg.TLS.on() {
		return nil
	}
	deps := p.mtls()
	deps.Use = "services"
	c, err := mtls.New(p.cfg.TLS.files(p.name), deps)
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	if is, err := mtls.Service(c.Own(), p.cfg.TLS.Domain); err != nil {
		return fmt.Errorf("tls.cert: %w", err)
	} else if is != p.name {
		return fmt.Errorf("tls.cert is the certificate of %s, and this is %s: it needs the DNS name %s", is, p.name, mtls.ServiceName(p.name, p.cfg.TLS.Domain))
	}
	p.credentials = c
	p.renew(c)
	return nil
}

// own is the port of this process, if it was opened already. Connections to it end with their client's certificate.
func (p *process) own() net.Listener {
	if p.credentials == nil || p.listener == nil {
		return p.listener
	}
	return p.credentials.Listen(p.listener)
}

// serverTLS is nil where ports have no TLS. A client without a certificate gets as far as the gate, which answers why
// it is refused; balancers, which have none, find /healthz and /readyz.
func (p *process) serverTLS() *tls.Config {
	if p.credentials == nil {
		return nil
	}
	return p.credentials.Server(tls.VerifyClientCertIfGiven, rpc.ALPN...)
}

// clientTLS is nil where services have no TLS.
func (p *process) clientTLS(service string) *tls.Config {
	if p.credentials == nil {
		return nil
	}
	return p.credentials.Naming(mtls.ServiceName(service, p.cfg.TLS.Domain))
}
