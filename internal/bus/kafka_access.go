package bus

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// SASL says who a client is by a name and a password.
type SASL struct {
	// Mechanism is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
	Mechanism string
	User      string
	// Password is called at each log-in, so that a new one counts without a restart.
	Password func() (string, error)
}

// Mechanisms are those that SASL takes.
const (
	MechanismPlain       = "PLAIN"
	MechanismScramSHA256 = "SCRAM-SHA-256"
	MechanismScramSHA512 = "SCRAM-SHA-512"
)

// errPassword is of a log-in for which there was no password.
var errPassword = errors.New("no password for the log-in")

func (s SASL) check() error {
	switch {
	case !slices.Contains([]string{MechanismPlain, MechanismScramSHA256, MechanismScramSHA512}, s.Mechanism):
		return fmt.Errorf("SASL mechanism %q: Kafka is logged in to by %s, %s or %s", s.Mechanism, MechanismScramSHA512, MechanismScramSHA256, MechanismPlain)
	case s.User == "" || s.Password == nil:
		return errors.New("SASL needs a user and a password")
	}
	return nil
}

func (s SASL) password() (string, error) {
	text, err := s.Password()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errPassword, err)
	}
	return text, nil
}

func (s SASL) mechanism() sasl.Mechanism {
	log := func(context.Context) (scram.Auth, error) {
		password, err := s.password()
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case MechanismPlain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := s.password()
			return plain.Auth{User: s.User, Pass: password}, err
		})
	case MechanismScramSHA256:
		return scram.Sha256(log)
	default:
		return scram.Sha512(log)
	}
}

// dialTimeout bounds a connection to a broker, with its handshake.
const dialTimeout = 10 * time.Second

// dialTLS connects with the certificates of the moment.
func dialTLS(of func(address string) *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return (&tls.Dialer{Config: of(address)}).DialContext(ctx, network, address)
	}
}

// refusalCounts is how long ago a broker may have refused us to count as refusing: clients try every few seconds.
const refusalCounts = 30 * time.Second

// access knows which brokers do not let us in, or are not those that they should be. It is a hook of all clients of a
// bus: each has connections of its own, which may be refused while older ones go on.
type access struct {
	as  string // user and mechanism
	now func() time.Time

	mu      sync.Mutex
	refused map[string]refusal
}

type refusal struct {
	at  time.Time
	why error
}

func newAccess(s *SASL) *access {
	a := &access{as: "a client without a user", now: time.Now, refused: map[string]refusal{}}
	if s != nil {
		a.as = "user " + s.User + " by " + s.Mechanism
	}
	return a
}

// OnBrokerConnect implements kgo.HookBrokerConnect. A broker that begins or ends to refuse us is logged once.
func (a *access) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	broker := net.JoinHostPort(meta.Host, strconv.Itoa(int(meta.Port)))
	a.mu.Lock()
	defer a.mu.Unlock()
	before, was := a.refused[broker]
	switch {
	case err == nil && was:
		delete(a.refused, broker)
		slog.Info("logged in to a Kafka broker again", "broker", broker)
	case loggingIn(err) || handshaking(err):
		why := fmt.Errorf("Kafka broker %s refuses %s: %w", broker, a.as, err) //nolint:staticcheck // a name
		if handshaking(err) {
			why = fmt.Errorf("Kafka broker %s is not reached over TLS: %w", broker, err) //nolint:staticcheck // a name
		}
		a.refused[broker] = refusal{a.now(), why}
		if !was || before.why.Error() != why.Error() {
			slog.Error("no log-in to a Kafka broker; trying again", "broker", broker, "error", why)
		}
	}
}

// fault is nil unless brokers refuse us now.
func (a *access) fault() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []error
	for _, r := range a.refused {
		if a.now().Sub(r.at) < refusalCounts {
			all = append(all, r.why)
		}
	}
	slices.SortFunc(all, func(x, y error) int { return strings.Compare(x.Error(), y.Error()) })
	return errors.Join(all...)
}

// loggingIn reports whether a connection failed because of user, password or mechanism.
func loggingIn(err error) bool {
	return errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.UnsupportedSaslMechanism) || errors.Is(err, kerr.IllegalSaslState) ||
		errors.Is(err, errPassword)
}

// handshaking reports whether it failed because of a certificate, or because one end speaks no TLS.
func handshaking(err error) bool {
	var verification *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	var op *net.OpError
	return errors.As(err, &verification) || errors.As(err, &noTLS) || errors.As(err, &op) && op.Op == "remote error" // an alert of TLS
}
