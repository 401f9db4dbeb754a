package ca

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Step is one of the three of a rotation. After each, certificates are issued for every service before the next one.
type Step string

// The steps, in their order.
const (
	// Announced: services trust the next CA, too. The present one signs on.
	Announced Step = "announced"
	// Switched: the next CA signs. Services trust both.
	Switched Step = "switched"
	// Finished: services trust the new CA alone.
	Finished Step = "finished"
)

// Rotate does the next step.
func (a *Authority) Rotate(life time.Duration, now time.Time) (Step, error) {
	unlock, err := a.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	trusted, err := a.trusted()
	if err != nil {
		return "", err
	}
	_, err = os.Stat(a.at(nextFile))
	switch {
	case err == nil:
		return Switched, a.change(now)
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("look for the next CA: %w", err)
	case len(trusted) > 1:
		return Finished, a.finish(now)
	}
	der, err := a.newSigner(nextFile, life, now)
	if err != nil {
		return "", err
	}
	return Announced, write(a.at(Trusted), 0o644, append(trusted, block("CERTIFICATE", der))...)
}

// change makes the next key the one that signs; the former signs its CRL alone. Where the step before was interrupted,
// the next is not trusted yet.
func (a *Authority) change(now time.Time) error {
	next, err := tls.LoadX509KeyPair(a.at(nextFile), a.at(nextFile))
	if err != nil {
		return fmt.Errorf("read the next CA's key: %w", err)
	}
	trusted, err := a.trusted()
	if err != nil {
		return err
	}
	if string(trusted[len(trusted)-1].Bytes) != string(next.Certificate[0]) {
		return fmt.Errorf("the rotation was interrupted before services could trust the next CA: remove %s and rotate again", a.at(nextFile))
	}
	if err := os.Remove(a.at(formerFile)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a step that was interrupted
		return fmt.Errorf("keep the former CA's key: %w", err)
	}
	if err := os.Link(a.at(keyFile), a.at(formerFile)); err != nil {
		return fmt.Errorf("keep the former CA's key: %w", err)
	}
	if _, err := a.list(Revoked{}, ListLife, now, nextFile, keyFile); err != nil {
		return err
	}
	if err := os.Rename(a.at(nextFile), a.at(keyFile)); err != nil {
		return fmt.Errorf("replace the CA's key: %w", err)
	}
	return nil
}

// finish leaves the CA that signs.
func (a *Authority) finish(now time.Time) error {
	signer, err := tls.LoadX509KeyPair(a.at(keyFile), a.at(keyFile))
	if err != nil {
		return fmt.Errorf("read the CA's key: %w", err)
	}
	if err := os.Remove(a.at(formerFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the former CA's key: %w", err)
	}
	if _, err := a.list(Revoked{}, ListLife, now, keyFile, formerFile); err != nil {
		return err
	}
	return write(a.at(Trusted), 0o644, block("CERTIFICATE", signer.Certificate[0]))
}

// trusted are the certificates that services trust.
func (a *Authority) trusted() (out []*pem.Block, err error) {
	raw, err := os.ReadFile(a.at(Trusted))
	if err != nil {
		return nil, fmt.Errorf("read the CA's certificates: %w", err)
	}
	for b, rest := pem.Decode(raw); b != nil; b, rest = pem.Decode(rest) {
		out = append(out, b)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no certificate", a.at(Trusted))
	}
	return out, nil
}
