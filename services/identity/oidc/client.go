// Package oidc asks an OpenID provider who somebody is.
//
// In: the authorization code of a browser, the device code of a command, the refresh token of a login. Out: a Person
// with name and groups, after every check of OpenID Connect Core 1.0, RFC 7636, RFC 8628 and RFC 9207 that applies.
// Next: services/identity, which gives that person a role and a session.
package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/millrace/millrace/internal/secretfile"
)

// Client is Millrace at the provider.
type Client struct {
	cfg      Configuration
	redirect string
	secret   string
	sealer   sealer
	http     *http.Client
	now      func() time.Time

	mu sync.Mutex
	// found is what the discovery document said; nil: it was not read yet. failed is when reading it failed last.
	found    *provider
	failed   time.Time
	failedBy error
}

// provider is what the discovery document says.
type provider struct {
	*oidc.Provider
	config oauth2.Config
	// device is the device authorization endpoint, empty where there is none.
	device string
	// says tells that answers name their issuer (RFC 9207).
	says bool
}

const (
	// timeout is of one request to the provider.
	timeout = 10 * time.Second
	// maxAnswer is room for keys, tokens and userinfo, in octets.
	maxAnswer = 1 << 20
	// leastSecret is of the client, in octets: everybody gets logins that are sealed by it, and can try words on them.
	leastSecret = 16
	// pause is how long after a failed discovery the next is tried.
	pause = 5 * time.Second
)

// algorithms are all asymmetric: by a symmetric one every holder of the client's secret could sign, and by none
// everybody.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// New reads the client's secret. The provider is asked for nothing before somebody logs in, so that it may be down.
func New(cfg Configuration, redirect string, now func() time.Time) (*Client, error) {
	secret, err := secretfile.Read(cfg.ClientSecretFile)
	if err != nil {
		return nil, fmt.Errorf("client_secret_file: %w", err)
	}
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("client_secret_file %s has less than %d characters, which can be guessed; let the provider make the secret", cfg.ClientSecretFile, leastSecret)
	}
	s, err := newSealer(secret)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if cfg.CA != "" {
		pem, err := os.ReadFile(cfg.CA)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", cfg.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &Client{
		cfg: cfg, redirect: redirect, secret: secret, sealer: s, now: now,
		http: &http.Client{Timeout: timeout, Transport: bounded{transport}, CheckRedirect: stay},
	}, nil
}

// stay follows no redirects: no endpoint that a secret is sent to has any.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// bounded reads no more of an answer than it needs.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// context makes the libraries use our client.
func (c *Client) context(ctx context.Context) context.Context { return oidc.ClientContext(ctx, c.http) }

// AwayError tells that the provider could not be asked: it says nothing about the person.
type AwayError struct{ err error }

// Error has no more of a page that the provider sent than a line: strangers get it, too.
func (e *AwayError) Error() string {
	return "the OpenID provider does not answer: " + plain(e.err.Error())
}

// Unwrap gives the cause.
func (e *AwayError) Unwrap() error { return e.err }

// provider reads the discovery document once; what fails is tried again after a while, so that strangers who log in
// while the provider is down do not make more requests than that.
func (c *Client) provider(ctx context.Context) (*provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found != nil {
		return c.found, nil
	}
	if c.failedBy != nil && c.now().Sub(c.failed).Abs() < pause {
		return nil, c.failedBy
	}
	p, err := c.discover(ctx)
	if err != nil {
		c.failed, c.failedBy = c.now(), &AwayError{err}
		return nil, c.failedBy
	}
	c.found, c.failedBy = p, nil
	return p, nil
}

func (c *Client) discover(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(c.context(context.WithoutCancel(ctx)), c.cfg.Issuer)
	if err != nil {
		return nil, err
	}
	var more struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
		Device  string   `json:"device_authorization_endpoint"`
		Keys    string   `json:"jwks_uri"`
		Says    bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, err
	}
	endpoint := found.Endpoint()
	for _, e := range []string{endpoint.AuthURL, endpoint.TokenURL, found.UserInfoEndpoint(), more.Device, more.Keys} {
		if e != "" && strings.HasPrefix(c.cfg.Issuer, "https://") && !strings.HasPrefix(e, "https://") {
			return nil, fmt.Errorf("its discovery document names %s, which is not https", e)
		}
	}
	// What is tried in vain uses a code up, so it is not left to the library to find out.
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &provider{found, oauth2.Config{
		ClientID: c.cfg.ClientID, ClientSecret: c.secret, Endpoint: endpoint, RedirectURL: c.redirect, Scopes: c.cfg.Scopes,
	}, more.Device, more.Says}, nil
}

// person verifies what the token endpoint answered, and asks for what is not in the id_token. With an error the
// person has at most a name: the one in an id_token that the provider signed for this client.
func (c *Client) person(ctx context.Context, p *provider, token *oauth2.Token, nonce string) (Person, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, errNoToken
	}
	verifier := p.Verifier(&oidc.Config{ClientID: c.cfg.ClientID, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true}) // check does that
	verified, err := verifier.Verify(c.context(ctx), raw)
	if err != nil && strings.Contains(err.Error(), keysFailed) {
		return Person{}, &AwayError{err}
	}
	if err != nil {
		return Person{}, err
	}
	said, err := read(verified.Claims)
	if err != nil {
		return Person{}, err
	}
	named := Person{Name: said.text(c.cfg.NameClaim)}
	if verified.AccessTokenHash != "" {
		if err := verified.VerifyAccessToken(token.AccessToken); err != nil {
			return named, fmt.Errorf("the access token is not the id_token's: %w", err)
		}
	}
	if err := said.check(c.cfg.ClientID, nonce, c.now()); err != nil {
		return named, err
	}
	if !said.complete(c.cfg) && p.UserInfoEndpoint() != "" {
		more, err := c.info(ctx, p, token)
		if err == nil {
			said, err = said.with(more)
		}
		if err != nil {
			return named, err
		}
	}
	who, err := said.person(c.cfg)
	if err != nil {
		return named, err
	}
	who.Refresh = token.RefreshToken
	return who, nil
}

// keysFailed is in the library's error where the keys could not be read, which has no type.
const keysFailed = "fetching keys"

var errNoToken = errors.New("the provider sent no id_token")

// info is what the userinfo endpoint says; whose it is the caller checks.
func (c *Client) info(ctx context.Context, p *provider, token *oauth2.Token) (claims, error) {
	info, err := p.UserInfo(c.context(ctx), oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, &AwayError{fmt.Errorf("userinfo: %w", err)}
	}
	return read(info.Claims)
}

// again is whom a refreshed token is of; a provider may answer without an id_token then (OpenID Connect Core, 12.2).
func (c *Client) again(ctx context.Context, p *provider, token *oauth2.Token, subject string) (Person, error) {
	who, err := c.person(ctx, p, token, "")
	if errors.Is(err, errNoToken) {
		said, err := c.info(ctx, p, token)
		if err != nil {
			return Person{}, err
		}
		if who, err = said.person(c.cfg); err != nil {
			return Person{}, err
		}
		who.Issuer, who.Refresh = c.cfg.Issuer, token.RefreshToken
	} else if err != nil {
		return Person{}, err
	}
	if !equal(who.Subject, subject) {
		return Person{}, errors.New("what was refreshed is of another subject")
	}
	return who, nil
}
