package routeragent_test

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/wholefile"
	"github.com/millrace/millrace/services/routeragent"
)

// follow opens a stream, waits until it works, and says how it ends.
func (x *target) follow(ctx context.Context, creds *tls.Config) <-chan error {
	x.Helper()
	end, err := x.tryToFollow(ctx, creds)
	if err != nil {
		x.Fatal(err)
	}
	return end
}

// tryToFollow has an error for a stream that did not work.
func (x *target) tryToFollow(ctx context.Context, creds *tls.Config) (<-chan error, error) {
	x.Helper()
	conn := x.dial(creds)
	x.Cleanup(func() { conn.Close() })
	s, err := gnmi.NewGNMIClient(conn).Subscribe(ctx)
	if err != nil {
		return nil, err
	}
	q := list(stream, x.on(x.T, gnmi.SubscriptionMode_ON_CHANGE, operA))
	if err := s.Send(&gnmi.SubscribeRequest{Request: &gnmi.SubscribeRequest_Subscribe{Subscribe: q}}); err != nil {
		return nil, err
	}
	if _, err := s.Recv(); err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Recv(); err != nil {
				end <- err
				return
			}
		}
	}()
	return end, nil
}

const endedExpired = `millrace_internal_mtls_ended_total{reason="expired",use="routeragent"}`

// followExpiring follows with a certificate that expires soon. On a machine where it expires before the stream works,
// the next one lives longer, and earlier is how many connections have ended so before.
func (x *target) followExpiring() (end <-chan error, earlier float64) {
	x.Helper()
	for life := 10 * time.Second; ; life *= 2 {
		earlier = x.count(endedExpired)
		cert, key := x.pki.IssueBetween(x.T, time.Now().Add(-time.Hour), time.Now().Add(life), pkix.Name{CommonName: "expiring"})
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			x.Fatal(err)
		}
		creds := x.clientTLS("operator")
		creds.Certificates = []tls.Certificate{pair}
		end, err := x.tryToFollow(x.Context(), creds)
		if err == nil {
			return end, earlier
		}
		if life > await.Patience/2 {
			x.Fatalf("no stream within %s: %v", life, err)
		}
	}
}

// withFile has the agent read its roles from agent.yaml, which the result rewrites.
func (x *target) withFile() (rewrite func(roles string)) {
	x.Helper()
	file := filepath.Join(x.TempDir(), "agent.yaml")
	rewrite = func(roles string) {
		x.Helper()
		wholefile.Write(x.T, file, fmt.Sprintf("name: r1\nfrr_instance: none\ntls: {cert: %s, key: %s, ca: %s, crl: %s}\ndata_dir: %s\nusers: %s\nroles: {%s}\n",
			x.cfg.TLS.Cert, x.cfg.TLS.Key, x.cfg.TLS.CA, x.cfg.TLS.CRL, x.cfg.DataDir, x.cfg.Users, roles))
	}
	rewrite("operator: operator, watcher: viewer, lowered: operator, expiring: viewer, revoked: viewer")
	interfaces := x.cfg.Interfaces
	var err error
	if x.cfg, err = routeragent.Load(file); err != nil {
		x.Fatal(err)
	}
	x.cfg.Interfaces = interfaces
	return rewrite
}

// removeUser leaves the others of the file as they are.
func (x *target) removeUser(name string) {
	x.Helper()
	raw, err := os.ReadFile(x.cfg.Users)
	if err != nil {
		x.Fatal(err)
	}
	var left strings.Builder
	for line := range strings.Lines(string(raw)) {
		if !strings.Contains(line, "name: "+name+",") {
			left.WriteString(line)
		}
	}
	wholefile.Write(x.T, x.cfg.Users, left.String())
}

// count is the value of a series that is named as Prometheus writes it, labels in the order of their names.
func (x *target) count(series string) float64 {
	x.Helper()
	families, err := x.registry.Gather()
	if err != nil {
		x.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			if f.GetName()+"{"+strings.Join(labels, ",")+"}" == series {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// TestStreamsEndWithTheRightToThem: revocation, expiry, a user or a role that is gone, each without a restart, without
// another call, and for nobody else.
func TestStreamsEndWithTheRightToThem(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.registry = prometheus.NewRegistry()
	x.cfg.TLS.CRL = filepath.Join(t.TempDir(), "crl.pem")
	x.pki.Revoke(t, x.cfg.TLS.CRL, time.Now().Add(time.Hour))
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"gone": routeragent.RoleViewer, "stays": routeragent.RoleViewer})
	rewrite := x.withFile()
	x.start()

	revoked := x.clientTLS("revoked")
	plain := t.Context()
	expiring, earlier := x.followExpiring()
	ends := map[string]<-chan error{
		"expiring": expiring,
		"revoked":  x.follow(plain, revoked),
		"watcher":  x.follow(plain, x.clientTLS("watcher")),
		"lowered":  x.follow(plain, x.clientTLS("lowered")),
		"gone":     x.follow(as(t, "gone", "right-gone"), x.clientTLS("operator")),
		"stays":    x.follow(as(t, "stays", "right-stays"), x.clientTLS("operator")),
		"operator": x.follow(plain, x.clientTLS("operator")),
	}
	lowered := x.dial(x.clientTLS("lowered"))
	defer lowered.Close()
	_, err := gnmi.NewGNMIClient(lowered).Set(plain, &gnmi.SetRequest{})
	wantCode(t, err, codes.OK)

	rewrite("operator: operator, lowered: viewer, expiring: viewer, revoked: viewer")
	wantCode(t, await.Value(t, "the stream of a role that is gone ends", ends["watcher"]), codes.PermissionDenied)
	_, err = gnmi.NewGNMIClient(lowered).Set(plain, &gnmi.SetRequest{})
	wantCode(t, err, codes.PermissionDenied)

	x.removeUser("gone")
	wantCode(t, await.Value(t, "the stream of a user who is gone ends", ends["gone"]), codes.PermissionDenied)

	x.pki.Revoke(t, x.cfg.TLS.CRL, time.Now().Add(time.Hour), filepath.Join(filepath.Dir(x.pki.CA), "revoked.pem"))
	wantCode(t, await.Value(t, "the stream of a revoked certificate ends", ends["revoked"]), codes.Unavailable)
	x.refusesToTalk(t, "a revoked certificate", x.dial(revoked))
	wantCode(t, await.Value(t, "the stream of an expired certificate ends", ends["expiring"]), codes.Unavailable)

	for _, who := range []string{"operator", "stays", "lowered"} {
		select {
		case err := <-ends[who]:
			t.Errorf("%s's stream ended: %v", who, err)
		default:
		}
	}
	for _, words := range [][]string{{"event=ended", "client=watcher", "result=PermissionDenied"}, {"event=ended", "client=gone", "result=PermissionDenied"},
		{"code=peer-ended", "revoked", "is revoked"}, {"code=peer-ended", "expiring", "expired"}} {
		if got := x.log.lines(words...); len(got) != 1 && (words[1] != "expiring" || len(got) != 1+int(earlier)) {
			t.Errorf("%d lines with %v", len(got), words)
		}
	}
	for metric, want := range map[string]float64{
		`millrace_services_routeragent_ended_streams_total{reason="no-role"}`:    2,
		`millrace_services_routeragent_refused_calls_total{reason="role"}`:       1,
		`millrace_internal_mtls_ended_total{reason="revoked",use="routeragent"}`: 1,
		endedExpired: earlier + 1,
	} {
		if got := x.count(metric); got != want {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
}

// TestFilesThatCannotBeUsedReplaceNothing: roles and users of before stay in force, and log and metric say so without a
// call.
func TestFilesThatCannotBeUsedReplaceNothing(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.registry = prometheus.NewRegistry()
	x.cfg.TLS.CRL = filepath.Join(t.TempDir(), "crl.pem")
	x.pki.Revoke(t, x.cfg.TLS.CRL, time.Now().Add(time.Hour))
	x.cfg.Users = usersFile(t, map[string]routeragent.Role{"noc": routeragent.RoleViewer})
	rewrite := x.withFile()
	x.start()
	end := x.follow(as(t, "noc", "right-noc"), x.clientTLS("operator"))
	refused := func(file string) float64 {
		return x.count(`millrace_services_routeragent_files_refused{file="` + file + `"}`)
	}
	rewrite("operator: emperor")
	await.True(t, "bad roles are reported", func() bool { return refused("roles") == 1 })
	wholefile.Write(t, x.cfg.Users, "")
	await.True(t, "an emptied list of users is reported", func() bool { return refused("users") == 1 })
	_, err := x.client.Set(t.Context(), &gnmi.SetRequest{})
	wantCode(t, err, codes.OK)
	rewrite("operator: operator, new: viewer")
	await.True(t, "good roles are taken", func() bool { return refused("roles") == 0 })
	conn := x.dial(x.clientTLS("new"))
	defer conn.Close()
	_, err = gnmi.NewGNMIClient(conn).Capabilities(t.Context(), &gnmi.CapabilityRequest{})
	wantCode(t, err, codes.OK)
	select {
	case err := <-end:
		t.Errorf("the user's stream ended: %v", err)
	default:
	}
	if got := x.log.lines("cannot be used"); len(got) != 2 {
		t.Errorf("%d lines: %v", len(got), got)
	}
}
