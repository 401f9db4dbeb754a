package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
)

// Kinds of secrets, by which people and scanners of leaked secrets tell one from another.
const (
	sessionKind = "mrs"
	tokenKind   = "mrt"
	linkKind    = "mrl"
)

// secret is what a caller shows: kind, id and 130 random bits. The id finds the record, which has a hash of the rest;
// a hash without salt is enough for what nobody can guess.
type secret struct{ kind, id, random string }

func newSecret(kind string) secret {
	return secret{kind, strings.ToLower(rand.Text()[:12]), strings.ToLower(rand.Text())}
}

func (s secret) text() string { return s.kind + "_" + s.id + "_" + s.random }

func (s secret) hash() []byte {
	sum := sha256.Sum256([]byte(s.random))
	return sum[:]
}

func (s secret) matches(hash []byte) bool { return subtle.ConstantTimeCompare(s.hash(), hash) == 1 }

// parseSecret reads what a caller shows. The id becomes part of a key of etcd, so only what newSecret writes is read.
func parseSecret(kind, text string) (secret, bool) {
	parts := strings.Split(text, "_")
	if len(parts) != 3 || parts[0] != kind || len(parts[1]) != 12 || len(parts[2]) != 26 || strings.Trim(parts[1]+parts[2], "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return secret{}, false
	}
	return secret{parts[0], parts[1], parts[2]}, true
}
