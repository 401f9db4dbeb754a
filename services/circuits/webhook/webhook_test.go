package webhook

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

var secret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var quick = Pace{Answer: 10 * time.Second, First: time.Millisecond, Most: 2 * time.Millisecond, GiveUp: time.Hour}

func sender(t *testing.T, url string, pace Pace) *Sender {
	t.Helper()
	s, err := New(Target{URL: url, SecretFile: secretFile(t, secret), Private: true}, pace)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A message is signed, has the same id each time, and is sent until it is taken: the specification's own verifier reads
// it.
func TestAMessageIsSentUntilItIsTaken(t *testing.T) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var ids []string
	answers := []int{500, 302, 404, 410, 429, 204}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err := errors.Join(err, verifier.Verify(body, r.Header)); err != nil || string(body) != `{"a":1}` {
			t.Errorf("%s: %v", body, err)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answers[len(ids)])
		ids = append(ids, r.Header.Get("webhook-id")+r.URL.Path)
	}))
	defer server.Close()
	var failures []string
	ended, err := sender(t, server.URL, quick).Deliver(t.Context(), Message{ID: "m", Body: []byte(`{"a":1}`)}, func(err error) { failures = append(failures, err.Error()) })
	if !ended || err != nil || len(failures) != 5 || !slices.Equal(ids, slices.Repeat([]string{"m/"}, 6)) {
		t.Errorf("%t, %v: %v, %v", ended, err, failures, ids)
	}
}

// A target that does not answer is left after a while, and one that never takes a message is given up.
func TestASlowTargetAndOneThatIsGivenUp(t *testing.T) {
	hang := make(chan struct{})
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	}))
	defer server.Close()
	defer close(hang)
	pace := quick
	pace.Answer = 50 * time.Millisecond
	ended, err := sender(t, server.URL, pace).Deliver(t.Context(), Message{ID: "m"}, func(error) {})
	if !ended || err != nil || asked.Load() < 2 {
		t.Errorf("%t, %v after %d", ended, err, asked.Load())
	}
	never := httptest.NewServer(http.NotFoundHandler())
	defer never.Close()
	pace = quick
	pace.GiveUp = 20 * time.Millisecond
	if ended, err := sender(t, never.URL, pace).Deliver(t.Context(), Message{ID: "m"}, func(error) {}); !ended || err == nil {
		t.Errorf("given up: %t, %v", ended, err)
	}
}

// Nothing goes to an address of the site itself, whatever name leads to it.
func TestNothingIsSentInside(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	for _, url := range []string{server.URL, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)} {
		s, err := New(Target{URL: url, SecretFile: secretFile(t, secret)}, quick)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.once(t.Context(), Message{ID: "m"}); err == nil || !strings.Contains(err.Error(), "no public address") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("asked %d times", asked.Load())
	}
	for address, want := range map[string]bool{
		"192.0.2.1": true, "2001:db8::1": true, "8.8.8.8": true, "127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "fe80::1": false, "fd00::1": false, "0.0.0.0": false, "::": false, "100.64.0.1": false,
		"224.0.0.1": false, "255.255.255.255": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
}

func TestTargets(t *testing.T) {
	for says, target := range map[string]Target{
		"":                  {URL: "https://example.org/hook", SecretFile: "x"},
		"https, or http":    {URL: "http://example.org/hook", SecretFile: "x"},
		"secret_file names": {URL: "https://example.org/hook"},
		"a host":            {URL: "https:///hook", SecretFile: "x"},
		"no user":           {URL: "https://a:b@example.org/", SecretFile: "x"},
		"missing protocol":  {URL: "://", SecretFile: "x"},
	} {
		if err := target.Validate(); (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "a:b")) {
			t.Errorf("%+v: %v, want %q", target, err, says)
		}
	}
	for _, text := range []string{"", "whsec_", "whsec_" + strings.Repeat("A", 31), "whsec_!!!!" + strings.Repeat("A", 32), strings.Repeat("A", 40)} {
		if _, err := New(Target{URL: "https://example.org", SecretFile: secretFile(t, text)}, quick); err == nil {
			t.Errorf("secret %q is taken", text)
		} else if len(text) > 10 && strings.Contains(err.Error(), text) {
			t.Errorf("the secret is told: %v", err)
		}
	}
}
