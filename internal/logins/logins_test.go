package logins

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestReplaced(t *testing.T) {
	type tokens = map[string]string
	for name, tt := range map[string]struct {
		all     tokens
		servers []string
		token   string
		want    tokens
	}{
		"the first login":                          {tokens{}, []string{"a"}, "1", tokens{"a": "1"}},
		"of two replicas":                          {tokens{}, []string{"a", "b"}, "1", tokens{"a": "1", "b": "1"}},
		"in place of one before":                   {tokens{"a": "1"}, []string{"a"}, "2", tokens{"a": "2"}},
		"others stay":                              {tokens{"x": "9"}, []string{"a"}, "1", tokens{"x": "9", "a": "1"}},
		"also for a replica that is not named now": {tokens{"a": "1", "b": "1", "x": "9"}, []string{"a"}, "2", tokens{"a": "2", "b": "2", "x": "9"}},
		"two control planes become one's replicas": {tokens{"a": "1", "b": "2"}, []string{"a", "b"}, "3", tokens{"a": "3", "b": "3"}},
		"a log-out":                                {tokens{"a": "1", "b": "1", "x": "9"}, []string{"a"}, "", tokens{"x": "9"}},
		"a log-out without a login":                {tokens{"x": "9"}, []string{"a"}, "", tokens{"x": "9"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(tt.all)
			if got := replaced(tt.all, tt.servers, tt.token); !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if !maps.Equal(tt.all, before) {
				t.Errorf("the tokens before became %v", tt.all)
			}
		})
	}
}

// shown is what a request to a URL shows.
func shown(t *testing.T, transport func(http.RoundTripper) http.RoundTripper, url string) (header string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = transport(roundTrip(func(r *http.Request) (*http.Response, error) {
		header = r.Header.Get("Authorization")
		return &http.Response{Body: http.NoBody}, nil
	})).RoundTrip(r) //nolint:bodyclose // there is none
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Header.Get("Authorization"); got != "" {
		t.Errorf("the caller's request was changed: %q", got)
	}
	return header
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A token goes to the control plane that gave it, and to no other host whose name begins alike.
func TestTheTokenGoesToItsControlPlaneAlone(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(Variable, "")
	if err := Save([]string{"http://noc", "http://noc2"}, "t1"); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://noc/x": "Bearer t1", "http://noc.example/x": "", "http://noc2/x": "", "https://noc/x": "",
	} {
		got := shown(t, func(next http.RoundTripper) http.RoundTripper {
			return Transport{[]string{"http://noc", "http://noc2"}, next}
		}, url)
		if got != want {
			t.Errorf("%s was shown %q, want %q", url, got, want)
		}
	}
	if got := shown(t, func(next http.RoundTripper) http.RoundTripper { return One{"t2", next} }, "http://noc/x"); got != "Bearer t2" {
		t.Errorf("one token: %q", got)
	}
	t.Setenv(Variable, "program")
	if got, err := tokenFor([]string{"http://noc"}); got != "program" || err != nil {
		t.Errorf("beside a program's token: %q, %v", got, err)
	}
	if got := Secrets(); !slices.Contains(got, "program") || !slices.Contains(got, "t1") {
		t.Errorf("the user's secrets are %q", got)
	}
}

func TestAFileThatOthersReadIsRefusedAndIsASecretAllTheMore(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv(Variable, "")
	if err := Save([]string{"http://noc"}, "t1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "millrace", "tokens.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if all, err := Saved(); err == nil {
		t.Errorf("read %v", all)
	}
	if err := Save([]string{"http://noc"}, "t2"); err == nil {
		t.Error("written over")
	}
	if got := Secrets(); !slices.Contains(got, "t1") {
		t.Errorf("the user's secrets are %q", got)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := Saved(); err == nil {
		t.Errorf("read %v from half a file", all)
	}
}
