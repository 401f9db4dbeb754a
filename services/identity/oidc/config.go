package oidc

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/rights"
)

// Configuration of the OpenID provider by which people log in.
type Configuration struct {
	// Issuer is the provider's URL, as its discovery document spells it; https, or http on the loopback. Default none:
	// people log in by passwords and links alone.
	Issuer string `yaml:"issuer"`
	// Title is what the page calls the provider. Default single sign-on.
	Title string `yaml:"title"`
	// ClientID and the secret in ClientSecretFile are what the provider knows Millrace by: a confidential client
	// whose one redirect URI is identity.url with the path /. The file is relative to this file.
	ClientID         string `yaml:"client_id"`
	ClientSecretFile string `yaml:"client_secret_file"`
	// CA is a PEM file with the CA of the provider's certificate. Default: those of the host.
	CA string `yaml:"ca"`
	// Scopes that are requested; they must have openid. Default [openid, profile].
	Scopes []string `yaml:"scopes"`
	// NameClaim is the claim that becomes a person's name at the first login. Default preferred_username.
	NameClaim string `yaml:"name_claim"`
	// GroupsClaim is the claim with a person's groups; a.b is b inside a. Default groups.
	GroupsClaim string `yaml:"groups_claim"`
	// Roles maps a group to viewer, operator, approver or admin; the highest of a person's groups counts, and who has
	// none of the groups does not log in.
	Roles map[string]string `yaml:"roles"`
	// Limits limits the role of a group: routers, vpns and policies are lists of patterns of names. Of several groups
	// of a person each gives its role for what is its.
	Limits map[string]rights.Scope `yaml:"limits"`
	// Recheck is how often the provider is asked for the groups of those who are logged in, where it gave a refresh
	// token. Default 5m.
	Recheck time.Duration `yaml:"recheck"`
	// Grace is how long a login lasts that the provider does not confirm, because it is down or gave no refresh token.
	// Default 1h.
	Grace time.Duration `yaml:"grace"`
}

// DefaultConfiguration has no provider.
func DefaultConfiguration() Configuration {
	return Configuration{
		Title: "single sign-on", Scopes: []string{scopeOpenID, "profile"}, NameClaim: "preferred_username", GroupsClaim: "groups",
		Recheck: 5 * time.Minute, Grace: time.Hour,
	}
}

const scopeOpenID, scopeOffline = "openid", "offline_access"

// On reports whether there is a provider.
func (c Configuration) On() bool { return c.Issuer != "" }

// RelativeTo resolves the files against the folder of the configuration file.
func (c *Configuration) RelativeTo(folder string) {
	for _, file := range []*string{&c.ClientSecretFile, &c.CA} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(folder, *file)
		}
	}
}

// Validate says what is wrong and what to write instead.
func (c Configuration) Validate() error {
	if !c.On() {
		if c.ClientID != "" || c.ClientSecretFile != "" || len(c.Roles) > 0 {
			return errors.New("issuer is missing: write the URL of the provider")
		}
		return nil
	}
	switch u, err := url.Parse(c.Issuer); {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("issuer is %q; write a URL such as https://login.example.net/realms/noc", c.Issuer)
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		return fmt.Errorf("issuer is %q, where a host on the way could log in as anybody; write https", c.Issuer)
	case c.ClientID == "" || c.ClientSecretFile == "":
		return errors.New("client_id or client_secret_file is missing: register a confidential client at the provider")
	case !slices.Contains(c.Scopes, scopeOpenID):
		return errors.New("scopes must have openid")
	case c.NameClaim == "" || c.GroupsClaim == "" || c.Title == "":
		return errors.New("title, name_claim and groups_claim must not be empty")
	case len(c.Roles) == 0:
		return errors.New("roles is empty, so nobody could log in; write groups and their roles, such as noc-approvers: approver")
	case c.Recheck < time.Minute || c.Grace < c.Recheck:
		return errors.New("recheck must be at least 1m, and grace not less than recheck")
	}
	return c.validRoles()
}

func (c Configuration) validRoles() error {
	for _, group := range slices.Sorted(maps.Keys(c.Roles)) {
		role, ok := rights.Named(c.Roles[group])
		if !ok || group == "" {
			return fmt.Errorf("roles: %q is %q; the role is viewer, operator, approver or admin", group, c.Roles[group])
		}
		if err := rights.CheckGrant(rights.Grant{Role: role, Scope: c.Limits[group]}); err != nil {
			return fmt.Errorf("limits: %q: %w", group, err)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(c.Limits)) {
		if c.Roles[group] == "" {
			return fmt.Errorf("limits: %q has no role in roles", group)
		}
		if c.Limits[group].All() {
			return fmt.Errorf("limits: %q names no router, VPN or policy; leave it out where the role holds everywhere", group)
		}
	}
	return nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Grants are the roles of the groups, each for its scope; none: there is no role. They are the same in whatever order
// the provider names the groups: other limits end a person's streams.
func (c Configuration) Grants(groups []string) (out []rights.Grant) {
	for _, g := range slices.Sorted(slices.Values(groups)) {
		if role, ok := rights.Named(c.Roles[g]); ok {
			out = append(out, rights.Grant{Role: role, Scope: c.Limits[g]})
		}
	}
	return out
}
