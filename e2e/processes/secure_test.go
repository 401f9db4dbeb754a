package processes

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/transfers"
	"github.com/millrace/millrace/internal/testkit/tworouters"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	"github.com/millrace/millrace/proto/gen/millrace/flow/v1/flowv1connect"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
	"github.com/millrace/millrace/proto/gen/millrace/push/v1/pushv1connect"
)

const (
	adminsPassword = "correct horse battery\n"
	annsPassword   = "stapled horse battery\n"
	bobsPassword   = "charged horse battery\n"
)

// What people do from the first login to a change on routers, where every service is a process of its own, every
// connection between them has mutual TLS, and nobody does anything without a login.
func TestPeopleLogInToServicesThatProveThemselves(t *testing.T) {
	s := newSecure(t)
	s.people(t)
	s.strangers(t)
	ann := &http.Client{Transport: bearer{s.token(t, "ann"), s.client.Transport}}
	at := begun()
	tworouters.Tell(t, s.kafka, ann, s.url("dashboard"), at)
	s.imports(t, ann, at)
	id := s.nightlyRun(t, at)
	s.approval(t, id)
	s.page(t)
	s.recorded(t, id)
	s.rotation(t)
}

// people come in by the link, which works once, and add each other.
func (s *secure) people(t *testing.T) {
	t.Helper()
	if out, err := s.as("admin", "", "change", "list"); err == nil || !strings.Contains(out, "needs a login") {
		t.Errorf("without a login: %v %s", err, out)
	}
	link := s.link(t)
	s.with(t, "admin", adminsPassword, "users", "password", "--link", link)
	if out, err := s.as("admin", adminsPassword, "users", "password", "--link", link); err == nil || !strings.Contains(out, "was used") {
		t.Errorf("the link a second time: %v %s", err, out)
	}
	s.with(t, "admin", adminsPassword, "login", "--name", "admin")
	for name, of := range map[string]struct{ role, password string }{"ann": {"operator", annsPassword}, "bob": {"approver", bobsPassword}} {
		s.run(t, "admin", "users", "put", name, "--role", of.role)
		s.with(t, "admin", adminsPassword+of.password, "users", "password", name)
		if out := s.with(t, name, of.password, "login", "--name", name); !strings.Contains(out, "as "+name+", "+of.role) {
			t.Errorf("%s logged in: %s", name, out)
		}
	}
}

// strangers get to no service: not to the dashboard without a login, and not to another port with one.
func (s *secure) strangers(t *testing.T) {
	t.Helper()
	r, err := http.Get("http://" + strings.TrimPrefix(s.url("push"), "https://") + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("plain text: %s", r.Status)
	}
	inside := s.client.Transport.(*http.Transport).Clone()
	inside.TLSClientConfig.ServerName = "push.millrace"
	for who, client := range map[string]http.RoundTripper{"nobody": inside, "a person with a token": bearer{s.token(t, "bob"), inside}} {
		api := pushv1connect.NewChangeServiceClient(&http.Client{Transport: client}, s.url("push"))
		if _, err := api.List(t.Context(), connect.NewRequest(&pushv1.ListRequest{})); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("%s at the port of push: %v", who, err)
		}
	}
}

// imports sends flows as `millrace flows import` does, and finds them in the store.
func (s *secure) imports(t *testing.T, ann *http.Client, at time.Time) {
	t.Helper()
	of := transfers.Transfer{Src: "10.1.0.5", Dst: "10.2.0.9", Bytes: 2_000_000_000}
	stream := flowv1connect.NewFlowCollectorServiceClient(ann, s.url("dashboard")).Import(t.Context())
	record := of.Record(netip.MustParseAddr("192.0.2.1"), at)
	if err := stream.Send(&flowv1.ImportRequest{Batch: &flowv1.FlowBatch{BatchId: "first", Records: []*flowv1.FlowRecord{record}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Fatal(err)
	}
	program.Until(t, "the transfer is stored", func() (bool, any) {
		out, err := s.as("ann", "", "flows", "top", "--from", at.Add(-time.Hour).UTC().Format(time.RFC3339), "--to", at.Add(time.Hour).UTC().Format(time.RFC3339))
		return err == nil && strings.Contains(out, "10.1.0") && strings.Contains(out, "10.2.0"), out
	})
}

var changeID = regexp.MustCompile(`\bc-[0-9a-z-]+`)

// nightlyRun is a nightly run that ann starts, and asks for a change set in the name of services/alpha.
func (s *secure) nightlyRun(t *testing.T, at time.Time) string {
	t.Helper()
	out := s.run(t, "ann", "alpha", "nightly", "--from", at.Add(-time.Hour).UTC().Format(time.RFC3339), "--to", at.Add(2*time.Minute).UTC().Format(time.RFC3339))
	id := changeID.FindString(out)
	if id == "" || strings.Contains(out, "failed") {
		t.Fatalf("the nightly run: %s", out)
	}
	return id
}

// approval is bob's: ann's role is too low. Both routers then hold the plan.
func (s *secure) approval(t *testing.T, id string) {
	t.Helper()
	if out, err := s.as("ann", "", "change", "approve", id, "--apply"); err == nil || !strings.Contains(out, "needs the role approver") {
		t.Errorf("an operator approves: %v %s", err, out)
	}
	s.run(t, "bob", "change", "approve", id, "--apply")
	program.Until(t, "the change set is verified", func() (bool, any) {
		out, err := s.as("bob", "", "change", "show", id)
		return err == nil && strings.Contains(out, "verified"), out
	})
	if out := s.run(t, "bob", "change", "show", id); !strings.Contains(out, "approved by bob") {
		t.Errorf("approved by somebody else: %s", out)
	}
	if held := s.routers["WR"].Entries(); len(held) == 0 {
		t.Error("WR holds nothing")
	}
}

// page is what a browser does: the files are open, and a password gives a cookie that only TLS carries.
func (s *secure) page(t *testing.T) {
	t.Helper()
	r, err := s.client.Get(s.url("dashboard"))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden {
		t.Errorf("the page itself: %s", r.Status)
	}
	api := identityv1connect.NewIdentityServiceClient(s.client, s.url("dashboard"))
	in, err := api.Login(t.Context(), connect.NewRequest(&identityv1.LoginRequest{Name: "bob", Password: strings.TrimSpace(bobsPassword)}))
	if err != nil {
		t.Fatal(err)
	}
	cookie := in.Header().Get("Set-Cookie")
	if !strings.HasPrefix(cookie, "__Host-millrace=") || !strings.Contains(cookie, "Secure") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("the cookie is %s", cookie)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	who := connect.NewRequest(&identityv1.WhoAmIRequest{})
	who.Header().Set("Cookie", pair)
	if me, err := api.WhoAmI(t.Context(), who); err != nil || me.Msg.GetName() != "bob" {
		t.Errorf("%v %v", me, err)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url("dashboard")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Cookie", pair)
	if r, err = s.client.Do(q); err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if raw, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK || !strings.Contains(string(raw), "millrace_build_info") {
		t.Errorf("metrics: %s %v", r.Status, err)
	}
}

// recorded is the one chain that all processes write.
func (s *secure) recorded(t *testing.T, id string) {
	t.Helper()
	program.Until(t, "the approval is recorded", func() (bool, any) {
		out, err := s.as("admin", "", "audit", "list", "--procedure", "Approve")
		ok := strings.Contains(out, "bob (token ") && strings.Contains(out, id) && strings.Contains(out, "  ok")
		return err == nil && ok && strings.Contains(out, "ann (token ") && strings.Contains(out, "permission_denied (role)"), out
	})
	s.run(t, "admin", "audit", "verify")
	if out, err := s.as("bob", "", "audit", "list"); err == nil || !strings.Contains(out, "needs the role admin") {
		t.Errorf("an approver reads the log: %v %s", err, out)
	}
}

// rotation replaces the CA in its three steps; after each, a service that starts anew and those that run accept each
// other.
func (s *secure) rotation(t *testing.T) {
	t.Helper()
	for step, service := range []string{"push", "paths", "identity"} {
		s.run(t, "", "ca", "rotate", filepath.Join(s.dir, "ca"))
		s.issue(t)
		s.client = s.trusting(t)
		s.running[service].Signal(t, syscall.SIGTERM)
		s.launch(t, service)
		s.ready(t, service)
		program.Until(t, fmt.Sprintf("step %d is done, and %s answers", step+1, service), func() (bool, any) {
			list, err := s.as("bob", "", "change", "list")
			if err != nil {
				return false, list
			}
			shown, err := s.as("bob", "", "paths", "show")
			return err == nil, shown
		})
	}
}
