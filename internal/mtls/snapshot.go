package mtls

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// snapshot is what the files had at one time. It does not change.
type snapshot struct {
	// cert is empty, and without a Leaf, where we have none of our own.
	cert tls.Certificate
	cas  []*x509.Certificate
	pool *x509.CertPool
	crls []crl
	// refuseOverdue is Files.CRLOverdue.
	refuseOverdue bool
}

// crl is one list of revoked certificates.
type crl struct {
	issuer  *x509.Certificate
	next    time.Time       // when the next list is due; zero: never
	revoked map[string]bool // by serial number
}

// parse makes a snapshot of the contents of the files in the order of their names.
func parse(files Files, contents [][]byte) (*snapshot, error) {
	s := &snapshot{pool: x509.NewCertPool(), refuseOverdue: files.CRLOverdue == RefuseOverdue}
	var err error
	if s.cas, err = parseCAs(files.CA, contents[0]); err != nil {
		return nil, err
	}
	for _, ca := range s.cas {
		s.pool.AddCert(ca)
	}
	if !files.anonymous() {
		if s.cert, err = parsePair(files, contents[1], contents[2]); err != nil {
			return nil, err
		}
	}
	if files.CRL == "" {
		return s, nil
	}
	if s.crls, err = parseCRLs(contents[len(contents)-1], s.cas); err != nil {
		return nil, fmt.Errorf("CRL %s: %w", files.CRL, err)
	}
	return s, nil
}

func parsePair(files Files, cert, key []byte) (tls.Certificate, error) {
	out, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return out, fmt.Errorf("certificate %s with key %s: %w", files.Cert, files.Key, err)
	}
	if out.Leaf == nil {
		if out.Leaf, err = x509.ParseCertificate(out.Certificate[0]); err != nil {
			return out, fmt.Errorf("certificate %s: %w", files.Cert, err)
		}
	}
	return out, nil
}

func parseCAs(file string, raw []byte) (out []*x509.Certificate, err error) {
	list, err := blocks(raw, "CERTIFICATE")
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", file, err)
	}
	for _, der := range list {
		ca, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("CA %s: %w", file, err)
		}
		out = append(out, ca)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("CA: %s holds no PEM certificate", file)
	}
	return out, nil
}

// parseCRLs reads lists in PEM or one in DER.
func parseCRLs(raw []byte, cas []*x509.Certificate) (out []crl, err error) {
	list, err := blocks(raw, "X509 CRL")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && len(raw) > 0 && !bytes.Contains(raw, []byte("-----BEGIN")) {
		list = [][]byte{raw}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no list in it")
	}
	for _, der := range list {
		one, err := parseCRL(der, cas)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func parseCRL(der []byte, cas []*x509.Certificate) (out crl, err error) {
	list, err := x509.ParseRevocationList(der)
	if err != nil {
		return out, err
	}
	for _, e := range list.Extensions {
		if e.Critical { // such as of a list of changes, or of a part: RFC 5280 section 5.2
			return out, fmt.Errorf("the list of %s has the critical extension %s; only complete lists can be used", list.Issuer, e.Id)
		}
	}
	out = crl{next: list.NextUpdate, revoked: map[string]bool{}}
	for _, ca := range cas {
		if bytes.Equal(ca.RawSubject, list.RawIssuer) && list.CheckSignatureFrom(ca) == nil {
			out.issuer = ca
		}
	}
	if out.issuer == nil {
		return out, fmt.Errorf("no trusted CA has signed the list of %s", list.Issuer)
	}
	for _, r := range list.RevokedCertificateEntries {
		out.revoked[r.SerialNumber.String()] = true
	}
	return out, nil
}

// errCut is of a file that is being written.
var errCut = errors.New("it ends in the middle of a PEM block")

// blocks are all of a kind. One that cannot be decoded is an error: without a list of revoked certificates those on it
// would be let in again.
func blocks(raw []byte, kind string) (out [][]byte, err error) {
	want := bytes.Count(raw, []byte("-----BEGIN "+kind+"-----"))
	for {
		block, rest := pem.Decode(raw)
		if block == nil {
			break
		}
		if block.Type == kind {
			out = append(out, block.Bytes)
		}
		raw = rest
	}
	if bytes.Contains(raw, []byte("-----BEGIN")) {
		return nil, errCut
	}
	if len(out) != want {
		return nil, fmt.Errorf("%d of %d PEM blocks %q can be decoded", len(out), want, kind)
	}
	return out, nil
}

// usable is nil if our certificate, where we have one, and one of the CAs are valid now.
func (s *snapshot) usable(now time.Time) (err error) {
	if s.cert.Leaf != nil {
		if err = valid(s.cert.Leaf, now); err != nil {
			return err
		}
	}
	for _, ca := range s.cas {
		if err = valid(ca, now); err == nil {
			return nil
		}
	}
	return err
}

func valid(c *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate of %s is not valid before %s", c.Subject, c.NotBefore.Format(time.RFC3339))
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate of %s expired at %s", c.Subject, c.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// dueFirst is when the first list should have been replaced; zero: never.
func (s *snapshot) dueFirst() (due time.Time) {
	for _, l := range s.crls {
		if !l.next.IsZero() && (due.IsZero() || l.next.Before(due)) {
			due = l.next
		}
	}
	return due
}
