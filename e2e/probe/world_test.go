package probe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/rights"
	"github.com/millrace/millrace/internal/testkit/program"
	"github.com/millrace/millrace/internal/testkit/threerouters"
	identityv1 "github.com/millrace/millrace/proto/gen/millrace/identity/v1"
	"github.com/millrace/millrace/proto/gen/millrace/identity/v1/identityv1connect"
)

// config lets one token ask as fast as it can: limits of rate are tested in services/identity.
const config = `
data_dir: %[1]s
inventory: inventory.yaml
identity: {mode: on, url: "http://%[2]s:8080", rate: 1000000}
dashboard: {listen: "%[2]s:8080"}
flow: {listen: ["%[2]s:2055"]}
alpha: {nightly_at: ""}
topology: {interval: 1s}
circuits: {topology: 1s, projects: {astro: {members: [ann]}}}
`

// world is the whole program, and what people can show it.
type world struct {
	up            *program.Process
	address, base string
	client        *http.Client
	// viewer and admin are tokens, expired is one that was, and cookie is the session's of the person admin.
	viewer, admin, expired, cookie string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	program.NeedLibrary(t)
	folder, host := t.TempDir(), program.OwnHost()
	threerouters.Write(t, folder)
	file := filepath.Join(folder, "millrace.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, folder, host), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{up: program.Start(t, folder, "up", program.Path, "up", "--config", file), address: host + ":8080", base: "http://" + host + ":8080"}
	t.Cleanup(func() { w.up.Signal(t, syscall.SIGTERM) })
	w.client = &http.Client{
		Timeout:       program.Patience, // what takes longer hangs
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(w.client.CloseIdleConnections)
	w.up.WaitReady(t, w.base)
	w.logIn(t)
	return w
}

// logIn uses the first login link, and makes the tokens.
func (w *world) logIn(t *testing.T) {
	t.Helper()
	var code string
	program.Until(t, "a login link is printed", func() (bool, any) {
		said, err := os.ReadFile(w.up.Log)
		if m := regexp.MustCompile(`#login=(\S+)`).FindSubmatch(said); m != nil {
			code = string(m[1])
		}
		return code != "", err
	})
	api := identityv1connect.NewIdentityServiceClient(w.client, w.base)
	in, err := api.Redeem(t.Context(), connect.NewRequest(&identityv1.RedeemRequest{Code: code}))
	if err != nil {
		t.Fatal(err)
	}
	w.cookie, _, _ = strings.Cut(in.Header().Get("Set-Cookie"), ";")
	if bad := judgeCookie(in.Header().Get("Set-Cookie")); bad != "" {
		t.Error(bad)
	}
	token := func(role rights.Role, expires *timestamppb.Timestamp) string {
		q := connect.NewRequest(&identityv1.CreateTokenRequest{Name: "probe", Role: role, ExpiresAt: expires})
		q.Header().Set("Cookie", w.cookie)
		made, err := api.CreateToken(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return made.Msg.GetSecret()
	}
	w.expired = token(rights.Admin, timestamppb.New(time.Now().Add(2*time.Second)))
	w.viewer, w.admin = token(rights.Viewer, nil), token(rights.Admin, nil)
}

// request is one that net/http can make; others are in wire_test.go.
type request struct {
	method, target string
	host           string
	token, cookie  string
	header         map[string]string
	body           []byte
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request, and judges what every answer has to be.
func (w *world) ask(t *testing.T, q request) answer {
	t.Helper()
	a, err := w.send(t.Context(), q)
	if err != nil {
		t.Errorf("%s %.200s: %v", q.method, q.target, err)
		return answer{header: http.Header{}}
	}
	for _, bad := range judge(a) {
		t.Errorf("%s %.200s %v %.200q: %s; %d %v %.500s", q.method, q.target, q.header, q.body, bad, a.status, a.header, a.body)
	}
	return a
}

func (w *world) send(ctx context.Context, q request) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, w.base+q.target, bytes.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	r.Host = q.host
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	if q.cookie != "" {
		r.Header.Set("Cookie", q.cookie)
	}
	for k, v := range q.header {
		r.Header.Set(k, v)
	}
	got, err := w.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(got.Body, 64<<20))
	for k, v := range got.Trailer {
		got.Header[k] = v
	}
	return answer{got.StatusCode, got.Header, raw}, err
}
