package ca

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"time"
)

// List is the file with the lists of revoked certificates (CRLs, RFC 5280 section 5), one of each CA that signs or has
// signed until the rotation under way.
const List = "crl.pem"

// ListLife is for how long a list speaks by default: as long as a certificate, since both are renewed together.
const ListLife = 30 * 24 * time.Hour

// signer is a CA and its key.
type signer struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// Revoked says which certificates are revoked: those of Certificates, and whatever has one of the Serials.
type Revoked struct {
	Certificates []*x509.Certificate
	Serials      []*big.Int
}

// Revoke adds certificates to the lists and signs them anew, to be replaced within life. Without certificates it is how
// lists are renewed. It returns how many certificates are revoked now.
func (a *Authority) Revoke(r Revoked, life time.Duration, now time.Time) (total int, err error) {
	unlock, err := a.lock()
	if err != nil {
		return 0, err
	}
	defer unlock()
	return a.list(r, life, now, keyFile, formerFile)
}

// list signs the lists of these keys. Its caller has the lock.
func (a *Authority) list(r Revoked, life time.Duration, now time.Time, keys ...string) (total int, err error) {
	signers, err := a.signers(keys)
	if err != nil {
		return 0, err
	}
	for _, cert := range r.Certificates {
		if !signedByOne(signers, cert) {
			return 0, fmt.Errorf("the certificate of %s with serial number %s is of another CA", cert.Subject, cert.SerialNumber)
		}
	}
	lists, err := a.lists()
	if err != nil {
		return 0, err
	}
	var out []*pem.Block
	for _, s := range signers {
		list := next(s, lists, r, now, now.Add(life))
		total += len(list.RevokedCertificateEntries)
		der, err := x509.CreateRevocationList(rand.Reader, list, s.cert, s.key)
		if err != nil {
			return 0, fmt.Errorf("sign the CRL: %w", err)
		}
		out = append(out, block("X509 CRL", der))
	}
	return total, write(a.at(List), 0o644, out...)
}

// next is the list of a CA after the last one. Nothing leaves it: RFC 5280 section 3.3 has an entry stay beyond the end
// of its certificate, and there are few.
func next(s signer, before []*x509.RevocationList, r Revoked, now, due time.Time) *x509.RevocationList {
	out := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: now.Add(-early), NextUpdate: due}
	seen := map[string]bool{}
	add := func(serial *big.Int, at time.Time) {
		if !seen[serial.String()] {
			seen[serial.String()] = true
			out.RevokedCertificateEntries = append(out.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: at})
		}
	}
	for _, list := range before {
		if list.CheckSignatureFrom(s.cert) != nil {
			continue
		}
		if list.Number != nil { // RFC 5280 section 5.2.3 demands one, and not every tool writes it
			out.Number = new(big.Int).Add(list.Number, big.NewInt(1))
		}
		for _, e := range list.RevokedCertificateEntries {
			add(e.SerialNumber, e.RevocationTime)
		}
	}
	for _, cert := range r.Certificates {
		if cert.CheckSignatureFrom(s.cert) == nil {
			add(cert.SerialNumber, now)
		}
	}
	for _, serial := range r.Serials {
		add(serial, now)
	}
	return out
}

func signedByOne(signers []signer, cert *x509.Certificate) bool {
	for _, s := range signers {
		if cert.CheckSignatureFrom(s.cert) == nil {
			return true
		}
	}
	return false
}

// signers are the CA that signs and, between the last two steps of a rotation, the one before.
func (a *Authority) signers(keys []string) (out []signer, err error) {
	for _, name := range keys {
		pair, err := tls.LoadX509KeyPair(a.at(name), a.at(name))
		if name == formerFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the CA's key: %w", err)
		}
		key, ok := pair.PrivateKey.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("%s has no key that signs", a.at(name))
		}
		out = append(out, signer{pair.Leaf, key})
	}
	return out, nil
}

// lists are those of the file; none before the first.
func (a *Authority) lists() (out []*x509.RevocationList, err error) {
	raw, err := os.ReadFile(a.at(List))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the CRL: %w", err)
	}
	for b, rest := pem.Decode(raw); b != nil; b, rest = pem.Decode(rest) {
		list, err := x509.ParseRevocationList(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read the CRL %s: %w", a.at(List), err)
		}
		out = append(out, list)
	}
	if len(out) == 0 && len(raw) > 0 {
		return nil, fmt.Errorf("%s has no CRL in it: put back the last one, or those revoked would be trusted again", a.at(List))
	}
	return out, nil
}
