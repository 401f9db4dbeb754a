package mtls

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	eventv1 "github.com/millrace/millrace/proto/gen/millrace/event/v1"

	"github.com/millrace/millrace/internal/events"
)

// notice is reported once.
type notice struct {
	kind events.Kind
	text string
}

type metrics struct {
	refused, notAfter, nextUpdate prometheus.Gauge
	revoked                       prometheus.Counter
	ended                         *prometheus.CounterVec
}

// newMetrics registers no end of a certificate that there is not.
func newMetrics(use string, own bool, r prometheus.Registerer) *metrics {
	if r == nil {
		r = prometheus.NewRegistry()
	}
	const prefix = "millrace_internal_mtls_"
	f := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"use": use}, r))
	ours := f
	if !own {
		ours = promauto.With(nil)
	}
	return &metrics{
		refused:    f.NewGauge(prometheus.GaugeOpts{Name: prefix + "refused", Help: "1 while changed certificates, keys, CAs or CRLs cannot be used."}),
		notAfter:   ours.NewGauge(prometheus.GaugeOpts{Name: prefix + "not_after_timestamp_seconds", Help: "When our certificate expires, as Unix time."}),
		nextUpdate: f.NewGauge(prometheus.GaugeOpts{Name: prefix + "crl_next_update_timestamp_seconds", Help: "When the first CRL is due to be replaced, as Unix time; 0: there is none."}),
		revoked:    f.NewCounter(prometheus.CounterOpts{Name: prefix + "revoked_total", Help: "Handshakes refused because of a revoked certificate, or of one whose CRL is overdue where that is refused."}),
		ended: f.NewCounterVec(prometheus.CounterOpts{Name: prefix + "ended_total",
			Help: "Open connections that were ended because the client's certificate is not good any more, by reason: revoked, expired, crl-overdue, untrusted."}, []string{"reason"}),
	}
}

// Describe registers what credentials count with r, for the page that lists all metrics.
func Describe(r prometheus.Registerer) { newMetrics("", true, r) }

func (c *Credentials) tell(n notice) {
	if c.deps.Events != nil {
		select {
		case c.notices <- n: // the publisher logs it, too
			return
		default:
		}
	}
	level := slog.LevelWarn
	if n.kind.Severity() == eventv1.Severity_SEVERITY_INFO {
		level = slog.LevelInfo
	}
	c.deps.Log.Log(context.Background(), level, n.text, "code", n.kind.Code(), "subject", c.deps.Use)
}

// refuse leaves in use what is.
func (c *Credentials) refuse(err error) {
	c.metrics.refused.Set(1)
	if c.refused == err.Error() {
		return
	}
	c.refused = err.Error()
	c.tell(notice{events.CertificatesRefused, fmt.Sprintf("Changed certificates, keys, CAs or CRLs of %s cannot be used; those read before stay in use: %v.", c.deps.Use, err)})
}

func (c *Credentials) take(s *snapshot) {
	c.metrics.refused.Set(0)
	c.refused = ""
	c.inUse.Store(s)
	clear(c.strangers)
	ours := "there is none of our own"
	if leaf := s.cert.Leaf; leaf != nil {
		ours = fmt.Sprintf("ours has serial number %s and expires at %s", leaf.SerialNumber, leaf.NotAfter.Format(time.RFC3339))
	}
	c.tell(notice{events.CertificatesRead, fmt.Sprintf("Certificates of %s were read again; %s.", c.deps.Use, ours)})
}

// expirySoon is how long before its end a certificate is reported.
const expirySoon = 7 * 24 * time.Hour

// judge reports each problem of the files in use once.
func (c *Credentials) judge() {
	s, now := c.inUse.Load(), c.deps.Now()
	due := s.dueFirst()
	c.metrics.nextUpdate.Set(0)
	if !due.IsZero() {
		c.metrics.nextUpdate.Set(float64(due.Unix()))
	}
	err := s.usable(now)
	c.concern(events.CertificateExpired, err != nil, func() string { return fmt.Sprintf("Certificates of %s in use are not valid: %v.", c.deps.Use, err) })
	if leaf := s.cert.Leaf; leaf != nil {
		c.metrics.notAfter.Set(float64(leaf.NotAfter.Unix()))
		c.concern(events.CertificateExpires, err == nil && leaf.NotAfter.Sub(now) < soonOf(leaf), func() string {
			return fmt.Sprintf("The certificate of %s expires at %s.", c.deps.Use, leaf.NotAfter.Format(time.RFC3339))
		})
	}
	c.concern(events.RevocationListStale, !due.IsZero() && now.After(due), func() string {
		effect := "It stays in use; who was revoked since is not known."
		if s.refuseOverdue {
			effect = "Certificates of its CA are refused until it is (crl_overdue: refuse)."
		}
		return fmt.Sprintf("A CRL of %s was due to be replaced at %s. %s", c.deps.Use, due.Format(time.RFC3339), effect)
	})
}

// soonOf is expirySoon, or less for a certificate that is renewed every day.
func soonOf(cert *x509.Certificate) time.Duration {
	return min(expirySoon, cert.NotAfter.Sub(cert.NotBefore)/4)
}

func (c *Credentials) concern(kind events.Kind, is bool, text func() string) {
	if is && !c.told[kind] {
		c.tell(notice{kind, text()})
	}
	c.told[kind] = is
}

// stranger reports each refused certificate once, however often its owner connects.
func (c *Credentials) stranger(r *refusal) {
	c.metrics.revoked.Inc()
	c.mu.Lock()
	defer c.mu.Unlock()
	serial := r.cert.SerialNumber.String()
	if c.strangers[serial] {
		return
	}
	c.strangers[serial] = true
	c.tell(notice{events.PeerRevoked, fmt.Sprintf("%s was refused (%s): no handshake with its certificate, because %s.", r.cert.Subject, c.deps.Use, r.text)})
}
