// Package identity knows people and programs, and who of them sent a request.
//
// In: passwords, login links, session cookies and tokens, of which etcd has hashes, and what an OpenID provider says.
// Out: the caller of a request for the gate of the port (internal/rpc), and IdentityService. Next: every service, which
// finds the caller in the context.
package identity

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/millrace/millrace/internal/lifecycle"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/state"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	"github.com/millrace/millrace/services/identity/oidc"
)

// Dependencies of the service.
type Dependencies struct {
	// State is nil where Mode is off.
	State      *state.Store
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Now is the clock; nil: the host's.
	Now func() time.Time
}

// Component serves IdentityService.
type Component struct {
	cfg      Configuration
	deps     Dependencies
	metrics  *metrics
	loops    lifecycle.Loops
	attempts *attempts
	rates    *rates
	cost     argonCost
	// hashing has room for the passwords that are hashed at once, queue for those that wait for it.
	hashing, queue chan struct{}
	// provider is nil where people log in by passwords and links alone. devices bounds the logins of commands that
	// begin there, polls how often one of them asks, and allPolls how often all do.
	provider *oidc.Client
	devices  *rate.Limiter
	polls    *rates
	allPolls *rate.Limiter
}

// New checks the configuration and is otherwise inert.
func New(cfg Configuration, deps Dependencies) (*Component, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &Component{
		cfg: cfg, deps: deps, metrics: newMetrics(deps.Registerer), attempts: newAttempts(), rates: newRates(cfg.Rate),
		hashing: make(chan struct{}, maxHashing), queue: make(chan struct{}, maxWaiting), cost: memoryConstrained,
		devices: rate.NewLimiter(1, maxDevices), polls: newRates(1), allPolls: rate.NewLimiter(maxPolls, maxPolls),
	}
	if c.On() && cfg.OIDC.On() {
		p, err := oidc.New(cfg.OIDC, cfg.redirect(), deps.Now)
		if err != nil {
			return nil, fmt.Errorf("identity: oidc: %w", err)
		}
		c.provider = p
	}
	return c, nil
}

// cleanEvery is how often what has expired is deleted; it is refused before.
const cleanEvery = 10 * time.Minute

// Start deletes what has expired, now and then, and asks the provider for those who are logged in.
func (c *Component) Start(ctx context.Context) error {
	c.loops.Start(ctx)
	if c.On() {
		c.loops.Every(cleanEvery, c.clean)
	}
	if c.provider != nil {
		c.loops.Every(confirmEvery, c.confirm)
	}
	return nil
}

// Stop implements lifecycle.Component.
func (c *Component) Stop(ctx context.Context) error { return c.loops.Stop(ctx) }

// On reports whether callers need a login.
func (c *Component) On() bool { return c.cfg.Mode == ModeOn }

// maxRequest is room for names and passwords.
const maxRequest = 64 << 10

// Handler is the API to mount.
func (c *Component) Handler() (string, http.Handler) {
	return identityv1connect.NewIdentityServiceHandler(&api{c}, rpc.Bounded(maxRequest))
}
