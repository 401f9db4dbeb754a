package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/millrace/millrace/internal/secretfile"
)

// Target is the receiver of notifications.
type Target struct {
	// URL is https; plain http only where Private is set.
	URL string `yaml:"url"`
	// SecretFile has the secret that messages are signed with: whsec_ and 24 to 64 octets in Base64.
	SecretFile string `yaml:"secret_file"`
	// Private lets messages go to loopback, private and link-local addresses, and over plain http.
	Private bool `yaml:"private"`
}

// Validate returns an error that names a valid value.
func (t Target) Validate() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return err
	case u.Scheme != "https" && (u.Scheme != "http" || !t.Private):
		return fmt.Errorf("url %s: https, or http with private: true", u.Redacted())
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("url %s: a host, no user and no fragment", u.Redacted())
	case t.SecretFile == "":
		return fmt.Errorf("url %s: secret_file names the file of its secret", u.Redacted())
	}
	return nil
}

// Key names a target in etcd: it stays the same where others are added.
func (t Target) Key() string {
	sum := sha256.Sum256([]byte(t.URL))
	return hex.EncodeToString(sum[:8])
}

// signer reads the secret.
func (t Target) signer() (*standardwebhooks.Webhook, error) {
	secret, err := secretfile.Read(t.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("secret_file of a webhook: %w", err)
	}
	s, err := standardwebhooks.NewWebhook(secret)
	// 24 octets are 32 characters of Base64, 64 are 88.
	if n := len(strings.TrimPrefix(secret, "whsec_")); err != nil || !strings.HasPrefix(secret, "whsec_") || n < 32 || n > 88 {
		return nil, fmt.Errorf("the secret in %s is not whsec_ and 24 to 64 octets in Base64, as of: echo whsec_$(head -c 32 /dev/urandom | base64)", t.SecretFile)
	}
	return s, nil
}

// inside are networks beside those that netip knows which are no public hosts, or lead to such ones.
var inside = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// public reports whether an address is one of a host that is not this site's own.
func public(a netip.Addr) bool {
	a = a.Unmap()
	for _, p := range inside {
		if p.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate()
}
