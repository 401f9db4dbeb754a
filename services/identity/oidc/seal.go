package oidc

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
)

// sealer encrypts what leaves the process by a key that is made of the client's secret: what it sealed can be opened by
// every replica, and by nobody who has etcd or a backup alone.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret string) (sealer, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "millrace identity oidc", 32)
	if err != nil {
		return sealer{}, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, fmt.Errorf("derive a key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// seal binds text to what it is for.
func (s sealer) seal(text []byte, purpose string) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose)))
}

var errSealed = errors.New("not sealed here, or for something else")

func (s sealer) open(sealed, purpose string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, errSealed
	}
	text, err := s.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return nil, errSealed
	}
	return text, nil
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// random is 130 random bits.
func random() string { return rand.Text() }
