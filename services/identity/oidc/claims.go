package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Person is whom the provider vouches for. Issuer and Subject are who it is: an address of e-mail and a name can be
// given to somebody else.
type Person struct {
	Issuer, Subject string
	Name            string
	Groups          []string
	// Refresh is the refresh token, where the provider gave one.
	Refresh string
	// Session is the provider's own session, where it names one.
	Session string
}

// Skew is how far the clocks of provider and control plane may be apart.
const Skew = 5 * time.Minute

// claims are those of an id_token that somebody has verified the signature, the issuer and the audience of.
type claims map[string]any

// check judges the rest of an id_token. nonce is empty where the request had none.
func (c claims) check(clientID, nonce string, now time.Time) error {
	exp, hasExp := c.time("exp")
	iat, hasIat := c.time("iat")
	nbf, hasNbf := c.time("nbf")
	audience, _ := c["aud"].([]any)
	party, hasParty := c["azp"]
	switch {
	case c.text("sub") == "":
		return errors.New("the id_token has no subject")
	case !hasExp || !hasIat:
		return errors.New("the id_token has no exp or no iat")
	case !now.Before(exp.Add(Skew)):
		return fmt.Errorf("the id_token expired at %s, and it is %s here; compare the clocks", exp.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case iat.After(now.Add(Skew)) || hasNbf && nbf.After(now.Add(Skew)):
		return fmt.Errorf("the id_token is of %s, and it is %s here; compare the clocks", iat.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case hasParty && party != clientID, len(audience) > 1 && !hasParty:
		return errors.New("the id_token was issued to another client (azp)")
	case nonce != "" && !equal(c.text("nonce"), nonce):
		return errors.New("the id_token is of another login (nonce)")
	}
	return nil
}

func (c claims) text(name string) string { s, _ := c[name].(string); return s }

func (c claims) time(name string) (time.Time, bool) {
	n, ok := c[name].(json.Number)
	if !ok {
		return time.Time{}, false
	}
	seconds, err := n.Float64()
	if err != nil || seconds < 0 || seconds > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// decode keeps numbers as they are written.
func decode(raw []byte) (claims, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	c := claims{}
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("the claims are no JSON object: %w", err)
	}
	return c, nil
}

// groups are those of a claim: has is false where it is not there.
func (c claims) groups(name string) (groups []string, has bool, err error) {
	if names, _ := c["_claim_names"].(map[string]any); names[name] != nil || c["hasgroups"] == true {
		return nil, false, fmt.Errorf("the provider left %s out, because the person is in too many groups; let it send only the groups that are assigned to this client", name)
	}
	value, has := c.at(name)
	switch v := value.(type) {
	case nil:
		return nil, has, nil
	case string:
		return []string{v}, true, nil
	case []any:
		for _, g := range v {
			s, ok := g.(string)
			if !ok {
				return nil, true, fmt.Errorf("the claim %s has something that is no text", name)
			}
			groups = append(groups, s)
		}
		return groups, true, nil
	}
	return nil, true, fmt.Errorf("the claim %s is no list of groups", name)
}

// at finds a claim by its name, which may have dots in it, and else by a path of names.
func (c claims) at(name string) (any, bool) {
	if v, ok := c[name]; ok {
		return v, true
	}
	parts, in := strings.Split(name, "."), map[string]any(c)
	for i, part := range parts {
		v, ok := in[part]
		if !ok {
			return nil, false
		}
		if i == len(parts)-1 {
			return v, true
		}
		if in, ok = v.(map[string]any); !ok {
			return nil, false
		}
	}
	return nil, false
}

// with adds what the userinfo endpoint says of the same subject, where the id_token does not say it.
func (c claims) with(info claims) (claims, error) {
	if !equal(info.text("sub"), c.text("sub")) {
		return nil, errors.New("userinfo is of another subject than the id_token")
	}
	out := claims{}
	for name, value := range info {
		out[name] = value
	}
	for name, value := range c {
		out[name] = value
	}
	return out, nil
}

// complete reports whether nothing needs to be asked of the userinfo endpoint.
func (c claims) complete(cfg Configuration) bool {
	_, has, err := c.groups(cfg.GroupsClaim)
	return err == nil && has && c.text(cfg.NameClaim) != ""
}

// person reads what the configuration asks for.
func (c claims) person(cfg Configuration) (Person, error) {
	groups, _, err := c.groups(cfg.GroupsClaim)
	if err != nil {
		return Person{}, err
	}
	name := c.text(cfg.NameClaim)
	if name == "" {
		return Person{}, fmt.Errorf("the provider sends no claim %s; name another in identity.oidc.name_claim, or ask for its scope", cfg.NameClaim)
	}
	return Person{Issuer: c.text("iss"), Subject: c.text("sub"), Name: name, Groups: slices.Clone(groups), Session: c.text("sid")}, nil
}

// read takes the claims of a token or of userinfo as the library keeps them.
func read(from func(any) error) (claims, error) {
	var raw json.RawMessage
	if err := from(&raw); err != nil {
		return nil, fmt.Errorf("read the claims: %w", err)
	}
	return decode(raw)
}
