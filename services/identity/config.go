package identity

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/millrace/millrace/services/identity/oidc"
)

// Modes.
const (
	ModeOff = "off"
	ModeOn  = "on"
)

// Configuration of logins.
type Configuration struct {
	// Mode is on or off. With on every call needs a login and a role; with off everybody who reaches the port may do
	// everything. Default on.
	Mode string `yaml:"mode"`
	// URL is where people reach the dashboard, for login links, such as https://millrace.example.net. With https the
	// session cookie is sent over TLS only. Default none: http at the address that it listens on.
	URL string `yaml:"url"`
	// Session is how long a login lasts. Default 12h.
	Session time.Duration `yaml:"session"`
	// Token is how long a token lasts at most. Default 8760h, a year.
	Token time.Duration `yaml:"token"`
	// Link is how long a login link can be used. Default 15m.
	Link time.Duration `yaml:"link"`
	// Rate is how many requests per second one session or token may make over time. Default 200.
	Rate int `yaml:"rate"`
	// OIDC is the OpenID provider by which people log in.
	OIDC oidc.Configuration `yaml:"oidc"`
}

// DefaultConfiguration asks everybody to log in.
func DefaultConfiguration() Configuration {
	return Configuration{Mode: ModeOn, Session: 12 * time.Hour, Token: 365 * 24 * time.Hour, Link: 15 * time.Minute, Rate: 200, OIDC: oidc.DefaultConfiguration()}
}

// Validate says what is wrong and what to write instead.
func (c Configuration) Validate() error {
	if c.Mode != ModeOff && c.Mode != ModeOn {
		return fmt.Errorf("mode is %q; write on or off", c.Mode)
	}
	if c.Session < time.Minute || c.Token < time.Minute || c.Link < time.Minute {
		return errors.New("session, token and link must be at least 1m")
	}
	if c.Rate < 1 {
		return errors.New("rate must be at least 1")
	}
	if u, err := url.Parse(c.URL); c.URL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Errorf("url is %q; write one such as https://millrace.example.net", c.URL)
	}
	if err := c.OIDC.Validate(); err != nil {
		return fmt.Errorf("oidc: %w", err)
	}
	if c.OIDC.On() && c.URL == "" {
		return errors.New("url is missing: the provider of oidc sends browsers back there")
	}
	return nil
}

// RelativeTo resolves the files of the provider against the folder of the configuration file.
func (c *Configuration) RelativeTo(folder string) { c.OIDC.RelativeTo(folder) }

// redirect is the redirect URI that the client is registered with.
func (c Configuration) redirect() string { return strings.TrimRight(c.URL, "/") + "/" }

// secure reports whether browsers reach the dashboard over TLS.
func (c Configuration) secure() bool { return strings.HasPrefix(c.URL, "https://") }
