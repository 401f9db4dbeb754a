package oidc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Logout is what a logout token says: whose sessions end, or which one of the provider's own.
type Logout struct {
	Subject, Session string
	// ID is of the token, which counts once until Until.
	ID    string
	Until time.Time
}

// Logout verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6).
func (c *Client) Logout(ctx context.Context, raw string) (Logout, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Logout{}, err
	}
	verifier := p.Verifier(&oidc.Config{ClientID: c.cfg.ClientID, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true}) // logout does that
	verified, err := verifier.Verify(c.context(ctx), raw)
	if err != nil && strings.Contains(err.Error(), keysFailed) {
		return Logout{}, &AwayError{err}
	}
	if err != nil {
		return Logout{}, err
	}
	said, err := read(verified.Claims)
	if err != nil {
		return Logout{}, err
	}
	return said.logout(c.now())
}

// logoutEvent is what tells a logout token from an id_token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logout judges the claims of a logout token whose signature, issuer and audience somebody has verified.
func (c claims) logout(now time.Time) (Logout, error) {
	exp, hasExp := c.time("exp")
	iat, hasIat := c.time("iat")
	events, _ := c["events"].(map[string]any)
	_, isLogout := events[logoutEvent].(map[string]any)
	_, hasNonce := c["nonce"]
	switch {
	case !isLogout || hasNonce:
		return Logout{}, errors.New("it is no logout token")
	case !hasExp || !hasIat:
		return Logout{}, errors.New("the logout token has no exp or no iat")
	case !now.Before(exp.Add(Skew)):
		return Logout{}, fmt.Errorf("the logout token expired at %s, and it is %s here; compare the clocks", exp.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case iat.After(now.Add(Skew)):
		return Logout{}, fmt.Errorf("the logout token is of %s, and it is %s here; compare the clocks", iat.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	case c.text("jti") == "":
		return Logout{}, errors.New("the logout token has no jti")
	case c.text("sub") == "" && c.text("sid") == "":
		return Logout{}, errors.New("the logout token names neither a subject nor a session")
	}
	return Logout{Subject: c.text("sub"), Session: c.text("sid"), ID: c.text("jti"), Until: exp.Add(Skew)}, nil
}
