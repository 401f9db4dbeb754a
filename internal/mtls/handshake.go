package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
)

// Server demands certificates of clients as configured. Sessions are not resumed: a resumed one would go by the files
// of its beginning.
func (c *Credentials) Server(demand tls.ClientAuthType, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: protocols, SessionTicketsDisabled: true,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			s := c.current()
			return &tls.Config{
				Certificates: []tls.Certificate{s.cert}, ClientCAs: s.pool, ClientAuth: demand, Time: c.deps.Now,
				MinVersion: tls.VersionTLS12, NextProtos: protocols, SessionTicketsDisabled: true,
				VerifyConnection: func(cs tls.ConnectionState) error {
					whose(hello.Conn, cs.PeerCertificates)
					return c.admit(s, cs.VerifiedChains)
				},
			}, nil
		},
	}
}

// Client is for clients. It goes by the CA of now: To goes by that of each handshake.
func (c *Credentials) Client() *tls.Config {
	return &tls.Config{
		RootCAs: c.inUse.Load().pool, MinVersion: tls.VersionTLS12, Time: c.deps.Now,
		GetClientCertificate: c.own,
		VerifyConnection:     func(cs tls.ConnectionState) error { return c.admit(c.current(), cs.VerifiedChains) },
		// Clients do not use this field. It passes to To whose configuration this is.
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return c.to(hello.ServerName), nil },
	}
}

// To is creds for connections to one address, host:port. If they are of Client, each handshake goes by the files as
// they are then; others are used as they are.
func To(creds *tls.Config, address string) *tls.Config {
	if creds == nil || creds.GetConfigForClient == nil {
		return creds.Clone()
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	out, err := creds.GetConfigForClient(&tls.ClientHelloInfo{ServerName: host})
	if err != nil || out == nil {
		return creds.Clone()
	}
	return out
}

// to checks the server itself, because a tls.Config's CAs cannot be replaced, and needs the name of the host: a
// connection's state does not have it where it is an address.
func (c *Credentials) to(host string) *tls.Config {
	return &tls.Config{
		ServerName: host, MinVersion: tls.VersionTLS12, GetClientCertificate: c.own,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection:   func(cs tls.ConnectionState) error { return c.verify(host, cs.PeerCertificates) },
	}
}

func (c *Credentials) own(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return &c.current().cert, nil
}

// verify is what crypto/tls does for a client, by the files of now, and the CRL.
func (c *Credentials) verify(host string, sent []*x509.Certificate) error {
	if host == "" || len(sent) == 0 {
		return errors.New("tls: nothing to verify the server by")
	}
	s := c.current()
	options := x509.VerifyOptions{Roots: s.pool, DNSName: host, Intermediates: x509.NewCertPool(), CurrentTime: c.deps.Now()}
	for _, intermediate := range sent[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	chains, err := sent[0].Verify(options)
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: sent, Err: err}
	}
	return c.admit(s, chains)
}

// admit refuses a peer that has no chain of good certificates.
func (c *Credentials) admit(s *snapshot, chains [][]*x509.Certificate) error {
	r := s.judge(chains, c.deps.Now())
	if r == nil {
		return nil
	}
	c.stranger(r)
	return &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{r.cert}, Err: r}
}
