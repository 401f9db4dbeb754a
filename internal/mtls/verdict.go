package mtls

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Values of Files.CRLOverdue.
const (
	// UseOverdue goes by a list past its nextUpdate as by any other.
	UseOverdue = "use"
	// RefuseOverdue refuses every certificate of a CA whose list is past its nextUpdate.
	RefuseOverdue = "refuse"
)

// Reasons for which a certificate is not good. They are labels of a metric.
const (
	reasonRevoked   = "revoked"
	reasonOverdue   = "crl-overdue"
	reasonExpired   = "expired"
	reasonUntrusted = "untrusted"
)

// refusal is why a certificate is not good.
type refusal struct {
	cert         *x509.Certificate
	reason, text string
}

func (r *refusal) Error() string { return r.text }

// judge is nil if one of the chains is without a revoked certificate, or if there is none: no certificate was demanded
// and none came.
func (s *snapshot) judge(chains [][]*x509.Certificate, now time.Time) (r *refusal) {
	for _, chain := range chains {
		if r = s.judgeChain(chain, now); r == nil {
			return nil
		}
	}
	return r
}

func (s *snapshot) judgeChain(chain []*x509.Certificate, now time.Time) *refusal {
	for i := range len(chain) - 1 {
		for _, l := range s.crls {
			cert, issuer := chain[i], chain[i+1]
			switch {
			case !bytes.Equal(issuer.RawSubject, l.issuer.RawSubject) || !bytes.Equal(issuer.RawSubjectPublicKeyInfo, l.issuer.RawSubjectPublicKeyInfo):
			case l.revoked[cert.SerialNumber.String()]:
				return &refusal{cert, reasonRevoked, fmt.Sprintf("that of %s with serial number %s is revoked", cert.Subject, cert.SerialNumber)}
			case s.refuseOverdue && !l.next.IsZero() && now.After(l.next):
				return &refusal{cert, reasonOverdue, fmt.Sprintf("that of %s cannot be checked: the CRL of %s was due to be replaced at %s",
					cert.Subject, issuer.Subject, l.next.Format(time.RFC3339))}
			}
		}
	}
	return nil
}

// judgeClient is what a handshake would say now to the certificates that a client has sent, its own first.
func (s *snapshot) judgeClient(sent []*x509.Certificate, now time.Time) *refusal {
	options := x509.VerifyOptions{
		Roots: s.pool, Intermediates: x509.NewCertPool(), CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, intermediate := range sent[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	chains, err := sent[0].Verify(options)
	if err == nil {
		return s.judge(chains, now)
	}
	reason := reasonUntrusted
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		reason = reasonExpired
	}
	return &refusal{sent[0], reason, fmt.Sprintf("that of %s with serial number %s: %v", sent[0].Subject, sent[0].SerialNumber, err)}
}
