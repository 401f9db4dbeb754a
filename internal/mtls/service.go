package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ServiceName is the DNS name that the certificate of a service has, such as push.millrace. It says who a process is,
// and not where: a service moves to another host with its certificate, and no DNS has to know the name.
func ServiceName(service, domain string) string { return service + "." + domain }

// Service is the one service of a domain that a certificate names. A certificate of two services, or of all by a
// wildcard, is refused: what one of them does could not be distinguished.
func Service(cert *x509.Certificate, domain string) (string, error) {
	var found []string
	for _, name := range cert.DNSNames {
		service, ours := strings.CutSuffix(name, "."+domain)
		if ours && service != "" && !strings.Contains(service, ".") && !slices.Contains(found, service) {
			found = append(found, service)
		}
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("the certificate of %s names no service: it needs the DNS name SERVICE.%s", cert.Subject, domain)
	case len(found) > 1 || found[0] == "*":
		return "", fmt.Errorf("the certificate of %s names %s.%s: it must name one service", cert.Subject, strings.Join(found, " and "), domain)
	}
	return found[0], nil
}

// Own is our certificate as it was read last.
func (c *Credentials) Own() *x509.Certificate { return c.inUse.Load().cert.Leaf }

// Naming is for clients of one service. Its certificate must have the name, at whatever address it is reached; one of
// another service, of a host or of a wildcard is refused.
func (c *Credentials) Naming(name string) *tls.Config {
	t := c.to(name)
	t.VerifyConnection = func(cs tls.ConnectionState) error {
		if err := c.verify(name, cs.PeerCertificates); err != nil {
			return err
		}
		if !slices.Contains(cs.PeerCertificates[0].DNSNames, name) {
			return errors.New("tls: a wildcard names no service; the certificate needs the DNS name " + name)
		}
		return nil
	}
	return t
}
