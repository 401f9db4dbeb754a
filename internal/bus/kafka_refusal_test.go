package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestWhoRefusesUs(t *testing.T) {
	now := time.Unix(0, 0)
	a := newAccess(&SASL{Mechanism: MechanismScramSHA512, User: "ann"})
	a.now = func() time.Time { return now }
	wrong := fmt.Errorf("%w: invalid credentials", kerr.SaslAuthenticationFailed)
	for _, step := range []struct {
		what   string
		broker string
		err    error
		after  time.Duration
		want   []string
	}{
		{"one that is away", "a", &net.OpError{Op: "dial", Err: io.EOF}, 0, nil},
		{"one that hangs up", "a", io.EOF, 0, nil},
		{"a wrong password", "b", wrong, time.Second, []string{"Kafka broker b:9093 refuses user ann by SCRAM-SHA-512: SASL_AUTHENTICATION_FAILED"}},
		{"another that does not know the mechanism", "a", kerr.UnsupportedSaslMechanism, time.Second, []string{"broker a:9093 refuses", "broker b:9093 refuses"}},
		{"the first again, after a while", "b", wrong, refusalCounts, []string{"broker b:9093 refuses"}},
		{"one that is away says nothing new", "b", io.EOF, 0, []string{"broker b:9093 refuses"}},
		{"another that lets us in", "c", nil, 0, []string{"broker b:9093 refuses"}},
		{"the same lets us in", "b", nil, 0, nil},
		{"no password", "b", fmt.Errorf("%w: gone", errPassword), 0, []string{"broker b:9093 refuses user ann by SCRAM-SHA-512: no password for the log-in: gone"}},
		{"a certificate", "b", fmt.Errorf("unable to dial: %w", &tls.CertificateVerificationError{Err: errors.New("of another CA")}), 0, []string{"broker b:9093 is not reached over TLS: unable to dial: tls: failed to verify certificate: of another CA"}},
		{"an alert", "b", &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, 0, []string{"broker b:9093 is not reached over TLS: remote error: tls: bad certificate"}},
		{"a broker without TLS", "b", tls.RecordHeaderError{Msg: "first record"}, 0, []string{"broker b:9093 is not reached over TLS: tls: first record"}},
		{"it is not tried any more", "c", nil, refusalCounts, nil},
	} {
		now = now.Add(step.after)
		a.OnBrokerConnect(kgo.BrokerMetadata{Host: step.broker, Port: 9093}, 0, nil, step.err)
		got := a.fault()
		if (got == nil) != (step.want == nil) {
			t.Fatalf("%s: %v, want %q", step.what, got, step.want)
		}
		if got == nil {
			continue
		}
		lines := strings.Split(got.Error(), "\n")
		if len(lines) != len(step.want) {
			t.Fatalf("%s: %v, want %q", step.what, got, step.want)
		}
		for i, line := range lines {
			if !strings.Contains(line, step.want[i]) {
				t.Errorf("%s: %q, want %q", step.what, line, step.want[i])
			}
		}
	}
}
