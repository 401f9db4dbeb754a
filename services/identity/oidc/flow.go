package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// flow is a login that has begun. The browser keeps it sealed, so that a login that nobody ends costs nothing here, and
// any replica can end it.
type flow struct {
	ID, State, Nonce, Verifier string
	Until                      time.Time
}

// Life is how long a login at the provider may take.
const Life = 15 * time.Minute

// Purposes of what is sealed.
const (
	forFlow    = "flow"
	forDevice  = "device"
	forRefresh = "refresh "
)

// Begin is where the browser goes, and the login as the browser must bring it back: nobody else can end it.
func (c *Client) Begin(ctx context.Context) (to, sealed string, err error) {
	p, err := c.provider(ctx)
	if err != nil {
		return "", "", err
	}
	f := flow{random(), random(), random(), oauth2.GenerateVerifier(), c.now().Add(Life)}
	raw, err := json.Marshal(f)
	if err != nil {
		return "", "", fmt.Errorf("encode a login: %w", err)
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	for _, s := range c.cfg.Scopes {
		if s == scopeOffline {
			options = append(options, oauth2.SetAuthURLParam("prompt", "consent")) // OpenID Connect Core, section 11
		}
	}
	return p.config.AuthCodeURL(f.State, options...), c.sealer.seal(raw, forFlow), nil
}

// Answer is what the provider sent the browser back with.
type Answer struct {
	// Sealed is the login as Begin gave it.
	Sealed             string
	Code, State        string
	Issuer             string
	Error, Description string
}

// Errors of logins.
var (
	ErrFlow = errors.New("this login did not begin in this browser, or is too old; log in again")
	// ErrPending: the person has not decided yet; ErrTooOften: and it was asked too often.
	ErrPending  = errors.New("the person has not confirmed the code yet")
	ErrTooOften = errors.New("the code is asked for too often")
	// ErrEnded: the provider confirms the login no longer.
	ErrEnded = errors.New("the provider confirms this login no longer")
)

// Ended is what End takes; ID is of the login, for the caller to see that it ends once.
type Ended struct {
	ID    string
	Until time.Time
	flow  flow
}

// Open is the login that an answer belongs to, and checks that it does.
func (c *Client) Open(a Answer) (Ended, error) {
	raw, err := c.sealer.open(a.Sealed, forFlow)
	f := flow{}
	if err != nil || json.Unmarshal(raw, &f) != nil || !equal(f.State, a.State) || !c.now().Before(f.Until) {
		return Ended{}, ErrFlow
	}
	return Ended{f.ID, f.Until, f}, nil
}

// End exchanges the code. The caller has seen that the login was not ended before.
func (c *Client) End(ctx context.Context, e Ended, a Answer) (Person, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Person{}, err
	}
	switch {
	case (a.Issuer != "" || p.says) && a.Issuer != c.cfg.Issuer:
		return Person{}, errors.New("the answer is of another provider (iss)")
	case a.Error != "":
		return Person{}, fmt.Errorf("the provider refused: %s", refusal(a.Error, a.Description))
	case a.Code == "":
		return Person{}, ErrFlow
	}
	token, err := p.config.Exchange(c.context(ctx), a.Code, oauth2.VerifierOption(e.flow.Verifier))
	if err != nil {
		return Person{}, answered(err)
	}
	return c.person(ctx, p, token, e.flow.Nonce)
}

// refusal is a code of the protocol and the provider's text.
func refusal(code, description string) string {
	text := code
	if description != "" {
		text += ": " + description
	}
	return plain(text)
}

// plain is the beginning of a text, without what a terminal or a log could take for more.
func plain(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	return string(runes[:min(len(runes), 200)])
}

// answered tells a refusal from a provider that is down.
func answered(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.ErrorCode != "" {
		return &RefusedError{refused.ErrorCode, refusal(refused.ErrorCode, refused.ErrorDescription)}
	}
	return &AwayError{err}
}

// RefusedError is the token endpoint's, by its code.
type RefusedError struct{ Code, text string }

func (e *RefusedError) Error() string { return "the provider refused: " + e.text }

// Is names the codes that are no end of a login, and the end of a grant.
func (e *RefusedError) Is(target error) bool {
	switch target {
	case ErrEnded:
		return e.Code == "invalid_grant"
	case ErrPending:
		return e.Code == "authorization_pending"
	case ErrTooOften:
		return e.Code == "slow_down"
	}
	return false
}

// Device is a login of a command on a host without a browser (RFC 8628).
type Device struct {
	// Handle is for Poll.
	Handle              string
	Code, URL, WholeURL string
	Interval            time.Duration
	Until               time.Time
}

// device is what is sealed in a handle. RFC 8628 has no PKCE; Keycloak asks for it where a client must use it, and
// others ignore it.
type device struct {
	ID, Code, Verifier string
	Until              time.Time
}

// maxDevice is how long a code may be valid, whatever the provider says.
const maxDevice = time.Hour

// BeginDevice asks the provider for a code that a person types into a browser.
func (c *Client) BeginDevice(ctx context.Context) (Device, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Device{}, err
	}
	if p.device == "" {
		return Device{}, errors.New("the OpenID provider has no device flow (RFC 8628)")
	}
	verifier := oauth2.GenerateVerifier()
	got, err := c.askDevice(ctx, p, verifier)
	if err != nil {
		return Device{}, err
	}
	until := c.now().Add(min(time.Duration(got.Expires)*time.Second, maxDevice))
	raw, err := json.Marshal(device{random(), got.DeviceCode, verifier, until})
	if err != nil {
		return Device{}, fmt.Errorf("encode a login: %w", err)
	}
	return Device{
		Handle: c.sealer.seal(raw, forDevice), Code: got.UserCode, URL: got.URL, WholeURL: got.WholeURL, Until: until,
		Interval: time.Duration(max(got.Interval, 0)) * time.Second,
	}, nil
}

type deviceAnswer struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URL        string `json:"verification_uri"`
	WholeURL   string `json:"verification_uri_complete"`
	Expires    int64  `json:"expires_in"`
	Interval   int64  `json:"interval"`
	Error      string `json:"error"`
	Text       string `json:"error_description"`
}

// askDevice shows the client's secret, which oauth2.Config.DeviceAuth does not.
func (c *Client) askDevice(ctx context.Context, p *provider, verifier string) (deviceAnswer, error) {
	form := url.Values{
		"client_id": {c.cfg.ClientID}, "scope": {strings.Join(c.cfg.Scopes, " ")},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"},
	}
	if p.config.Endpoint.AuthStyle == oauth2.AuthStyleInParams {
		form.Set("client_secret", c.secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.device, strings.NewReader(form.Encode()))
	if err != nil {
		return deviceAnswer{}, fmt.Errorf("device flow: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if p.config.Endpoint.AuthStyle == oauth2.AuthStyleInHeader {
		r.SetBasicAuth(url.QueryEscape(c.cfg.ClientID), url.QueryEscape(c.secret))
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return deviceAnswer{}, &AwayError{err}
	}
	defer answer.Body.Close()
	var got deviceAnswer
	switch err := json.NewDecoder(answer.Body).Decode(&got); {
	case err != nil:
		return deviceAnswer{}, &AwayError{fmt.Errorf("device flow: %s: %w", answer.Status, err)}
	case got.Error != "":
		return deviceAnswer{}, &RefusedError{got.Error, refusal(got.Error, got.Text)}
	case got.DeviceCode == "" || got.UserCode == "" || got.URL == "" || got.Expires <= 0:
		return deviceAnswer{}, &AwayError{errors.New("device flow: the answer is not whole")}
	}
	return got, nil
}

// DeviceOf is the login of a handle.
func (c *Client) DeviceOf(handle string) (id string, err error) {
	d, err := c.openDevice(handle)
	return d.ID, err
}

func (c *Client) openDevice(handle string) (device, error) {
	raw, err := c.sealer.open(handle, forDevice)
	d := device{}
	if err != nil || json.Unmarshal(raw, &d) != nil || !c.now().Before(d.Until) {
		return device{}, ErrFlow
	}
	return d, nil
}

// Poll asks once whether the person has confirmed the code: ErrPending if not.
func (c *Client) Poll(ctx context.Context, handle string) (Person, error) {
	d, err := c.openDevice(handle)
	if err != nil {
		return Person{}, err
	}
	p, err := c.provider(ctx)
	if err != nil {
		return Person{}, err
	}
	config := p.config
	config.RedirectURL = ""
	token, err := config.Exchange(c.context(ctx), "", oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
		oauth2.SetAuthURLParam("device_code", d.Code), oauth2.VerifierOption(d.Verifier))
	if err != nil {
		return Person{}, answered(err)
	}
	return c.person(ctx, p, token, "")
}

// Refresh asks whether the provider still vouches for somebody, and for the groups of now. With an error the person has
// at most a refresh token: the one that came for the one that is used up now.
func (c *Client) Refresh(ctx context.Context, subject, refresh string) (Person, error) {
	p, err := c.provider(ctx)
	if err != nil {
		return Person{}, err
	}
	token, err := p.config.TokenSource(c.context(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return Person{}, answered(err)
	}
	who, err := c.again(ctx, p, token, subject)
	if err != nil {
		return Person{Refresh: token.RefreshToken}, err
	}
	return who, nil
}

// Seal keeps a refresh token so that etcd alone does not give it away.
func (c *Client) Seal(refresh, subject string) string {
	if refresh == "" {
		return ""
	}
	return c.sealer.seal([]byte(refresh), forRefresh+subject)
}

// Unseal is empty where there is none, and where the client's secret is another one by now.
func (c *Client) Unseal(sealed, subject string) string {
	text, err := c.sealer.open(sealed, forRefresh+subject)
	if err != nil {
		return ""
	}
	return string(text)
}
