package ca

import (
	"crypto/rand"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// TestAListWithoutANumber, such as other tools sign: the next one is the first that has one.
func TestAListWithoutANumber(t *testing.T) {
	s := newSite(t)
	signers, err := s.signers([]string{keyFile})
	if err != nil {
		t.Fatal(err)
	}
	revoked := []pkix.RevokedCertificate{{SerialNumber: big.NewInt(7), RevocationTime: time.Now()}}
	//lint:ignore SA1019 CreateRevocationList makes no list without a number
	der, err := signers[0].cert.CreateCRL(rand.Reader, signers[0].key, revoked, time.Now(), time.Now().Add(day))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(s.at(List), 0o644, block("X509 CRL", der)); err != nil {
		t.Fatal(err)
	}
	total, err := s.Revoke(Revoked{}, day, time.Now())
	if err != nil || total != 1 {
		t.Errorf("%d revoked, %v", total, err)
	}
	lists, err := s.lists()
	if err != nil || len(lists) != 1 || lists[0].Number.Int64() != 1 {
		t.Errorf("%v, %v", lists, err)
	}
}
