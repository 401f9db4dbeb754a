package examine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/doctor"
	"github.com/millrace/millrace/internal/testkit/pki"
)

// Before the first start the folder's own parent is looked at.
func TestAFolderThatIsNotThereYet(t *testing.T) {
	there := t.TempDir()
	want, got := Disk(there), Disk(filepath.Join(there, "data", "millrace"))
	if got.Area != "disk" || got.Level != want.Level || !strings.Contains(got.What, " are free") {
		t.Errorf("%+v, and of the folder above it %+v", got, want)
	}
	file := filepath.Join(there, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Disk(filepath.Join(file, "data")); got.Level != doctor.Wrong {
		t.Errorf("below a file: %+v", got)
	}
}

func TestCertificateAndItsCA(t *testing.T) {
	ours, theirs := pki.New(t), pki.New(t)
	cert, key := ours.Issue(t, "millrace")
	for _, c := range []struct {
		name, cert, key, ca string
		want                string
	}{
		{"none is named", "", "", "", ""},
		{"one of its CA", cert, key, ours.CA, "of millrace"},
		{"one of another CA", cert, key, theirs.CA, "is not trusted here"},
		{"no file", cert + ".none", key, "", "no such file"},
		{"no CA", cert, key, ours.CA + ".none", "no such file"},
	} {
		var text []string
		for _, f := range Certificate(c.cert, c.key, c.ca) {
			text = append(text, f.What)
		}
		if got := strings.Join(text, "; "); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The CA's file has the root, and the certificate's that of the CA between: the other end is sent both, and takes them.
func TestACertificateOfACABetween(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, blocks ...*pem.Block) string {
		file := filepath.Join(dir, name)
		var raw []byte
		for _, b := range blocks {
			raw = append(raw, pem.EncodeToMemory(b)...)
		}
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	type issuer struct {
		cert *x509.Certificate
		key  *ecdsa.PrivateKey
	}
	issue := func(name string, isCA bool, by *issuer) (*issuer, *pem.Block) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(100 * 24 * time.Hour),
			IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
		if by == nil {
			by = &issuer{c, key}
		}
		der, err := x509.CreateCertificate(rand.Reader, c, by.cert, &key.PublicKey, by.key)
		if err != nil {
			t.Fatal(err)
		}
		made, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return &issuer{made, key}, &pem.Block{Type: "CERTIFICATE", Bytes: der}
	}
	root, rootPEM := issue("root", true, nil)
	between, betweenPEM := issue("between", true, root)
	own, ownPEM := issue("millrace", false, between)
	private, err := x509.MarshalPKCS8PrivateKey(own.key)
	if err != nil {
		t.Fatal(err)
	}
	ca, key := write("ca.pem", rootPEM), write("own.key", &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if got := Certificate(write("chain.pem", ownPEM, betweenPEM), key, ca); len(got) != 1 || got[0].Level != doctor.OK {
		t.Errorf("with the CA between: %+v", got)
	}
	if got := Certificate(write("own.pem", ownPEM), key, ca); len(got) != 1 || got[0].Level != doctor.Wrong {
		t.Errorf("without it: %+v", got)
	}
}
