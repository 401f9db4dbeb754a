// Package ca is a small certificate authority, for sites that have none: it signs the certificates by which services
// know each other.
//
// In: a folder with a key that only its owner reads.
// Out: for each service a folder with tls.crt, tls.key, ca.crt and crl.pem, the list of revoked certificates.
// Next: internal/mtls, which reads them again when they change.
package ca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files of the authority. A key's file has its certificate, too, so that both are replaced at once.
const (
	keyFile  = "ca.key"
	nextFile = "next.key"
	// formerFile is the key before the last, kept to sign its CRL until nobody trusts it any more.
	formerFile = "former.key"
	// Trusted is the file with every certificate that services trust.
	Trusted = "ca.crt"
)

// Files of a service, as cert-manager names them.
const (
	certFile = "tls.crt"
	ownKey   = "tls.key"
)

// early is how long before now certificates are valid, for hosts whose clocks are behind.
const early = 5 * time.Minute

// Authority is one folder.
type Authority struct{ folder string }

// Init makes an authority in a folder that has none.
func Init(folder string, life time.Duration, now time.Time) (*Authority, error) {
	a := &Authority{folder}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the CA: %w", err)
	}
	if _, err := os.Stat(a.at(keyFile)); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already; `millrace ca rotate` makes another", a.at(keyFile))
	}
	cert, err := a.newSigner(keyFile, life, now)
	if err != nil {
		return nil, err
	}
	if err := write(a.at(Trusted), 0o644, block("CERTIFICATE", cert)); err != nil {
		return nil, err
	}
	_, err = a.Revoke(Revoked{}, ListLife, now)
	return a, err
}

// Open is the authority of a folder. A key that others can read is refused, because they may have.
func Open(folder string) (*Authority, error) {
	a := &Authority{folder}
	for _, name := range []string{keyFile, nextFile, formerFile} {
		info, err := os.Stat(a.at(name))
		if name != keyFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("there is no CA in %s; `millrace ca init` makes one: %w", folder, err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("%s can be read by others (mode %#o): make another CA, or chmod 600 it if nobody has", a.at(name), info.Mode().Perm())
		}
	}
	return a, nil
}

func (a *Authority) at(name string) string { return filepath.Join(a.folder, name) }

// newSigner makes a key and its own certificate. Each has a subject of its own, so that chains are not mixed up.
func (a *Authority) newSigner(file string, life time.Duration, now time.Time) (der []byte, err error) {
	key, number, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{Organization: []string{"Millrace"}, CommonName: fmt.Sprintf("services CA %x", number.Bytes()[:4])},
		NotBefore: now.Add(-early), NotAfter: now.Add(life), IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key); err != nil {
		return nil, fmt.Errorf("sign the CA's certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the CA's key: %w", err)
	}
	return der, write(a.at(file), 0o600, block("PRIVATE KEY", private), block("CERTIFICATE", der))
}

// Certificate is what a service's certificate says.
type Certificate struct {
	// Names are DNS names and addresses, that of the service first.
	Names []string
	Life  time.Duration
}

// Issue writes a new key and a certificate of it into a folder, with the certificates to trust and the CRL. A reader
// that looks meanwhile finds a key that does not fit, and keeps what it has.
func (a *Authority) Issue(folder string, c Certificate, now time.Time) (until time.Time, err error) {
	unlock, err := a.lock() // or an older list could replace a newer one in the folder
	if err != nil {
		return until, err
	}
	defer unlock()
	pair, err := tls.LoadX509KeyPair(a.at(keyFile), a.at(keyFile))
	if err != nil {
		return until, fmt.Errorf("read the CA's key: %w", err)
	}
	if until = now.Add(c.Life); until.After(pair.Leaf.NotAfter) {
		return until, fmt.Errorf("the certificate would be valid until %s, and the CA's is until %s: rotate the CA", until.Format(time.RFC3339), pair.Leaf.NotAfter.Format(time.RFC3339))
	}
	key, number, err := newKey()
	if err != nil {
		return until, err
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: c.Names[0]}, NotBefore: now.Add(-early), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range c.Names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, pair.Leaf, &key.PublicKey, pair.PrivateKey)
	if err != nil {
		return until, fmt.Errorf("sign the certificate of %s: %w", c.Names[0], err)
	}
	return until, a.hand(folder, key, der)
}

// hand writes the trusted certificates before our own: a certificate of a new CA must not be there before them. The CRL
// comes first: it has lists of CAs alone that were trusted in the step before.
func (a *Authority) hand(folder string, key *ecdsa.PrivateKey, der []byte) error {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}
	trusted, err := a.trusted()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make the folder of a certificate: %w", err)
	}
	lists, err := a.lists()
	if err != nil {
		return err
	}
	var revoked []*pem.Block
	for _, list := range lists {
		revoked = append(revoked, block("X509 CRL", list.Raw))
	}
	if len(revoked) > 0 { // none: a CA from before there were lists, of which none was made yet
		err = write(filepath.Join(folder, List), 0o644, revoked...)
	}
	return errors.Join(err,
		write(filepath.Join(folder, Trusted), 0o644, trusted...),
		write(filepath.Join(folder, ownKey), 0o600, block("PRIVATE KEY", private)),
		write(filepath.Join(folder, certFile), 0o644, block("CERTIFICATE", der)))
}

func newKey() (*ecdsa.PrivateKey, *big.Int, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	serial := make([]byte, 16)
	rand.Read(serial) // never fails
	serial[0] = serial[0]&0x3f | 0x40
	return key, new(big.Int).SetBytes(serial), nil
}

func block(kind string, der []byte) *pem.Block { return &pem.Block{Type: kind, Bytes: der} }

// write replaces a file whole.
func write(path string, mode os.FileMode, blocks ...*pem.Block) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	for _, b := range blocks {
		err = errors.Join(err, pem.Encode(f, b))
	}
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
