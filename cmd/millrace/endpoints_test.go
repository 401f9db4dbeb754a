package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// An endpoint is one URL or a list, and is dumped as it is written.
func TestEndpointsAreReadAndDumped(t *testing.T) {
	for text, want := range map[string]struct {
		has  addresses
		dump string
	}{
		"http://127.0.0.1:7007":                                      {addresses{"http://127.0.0.1:7007"}, "push: http://127.0.0.1:7007"},
		"http://127.0.0.1:7007/":                                     {addresses{"http://127.0.0.1:7007"}, "push: http://127.0.0.1:7007"},
		"[http://127.0.0.1:7007]":                                    {addresses{"http://127.0.0.1:7007"}, "push: http://127.0.0.1:7007"},
		"['http://127.0.0.1:7007', 'http://127.0.0.1:7017/']":        {addresses{"http://127.0.0.1:7007", "http://127.0.0.1:7017"}, "push:\n  - http://127.0.0.1:7007\n  - http://127.0.0.1:7017"},
		"\n    - http://127.0.0.1:7007\n    - http://127.0.0.1:7017": {addresses{"http://127.0.0.1:7007", "http://127.0.0.1:7017"}, "push:\n  - http://127.0.0.1:7007\n  - http://127.0.0.1:7017"},
		"''": {nil, `push: ""`},
		"[]": {addresses{}, `push: ""`},
	} {
		cfg := configured(t, "endpoints:\n  push: "+text+"\n")
		if got := cfg.Endpoints["push"]; !reflect.DeepEqual(got, want.has) {
			t.Errorf("%s: got %#v", text, got)
		}
		raw, err := yaml.Marshal(cfg.document.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ReplaceAll(string(raw), "  - ", "- "), strings.ReplaceAll(want.dump, "  - ", "- ")) {
			t.Errorf("%s is dumped as\n%s", text, raw)
		}
		if again := configured(t, string(raw)); again.Endpoints["push"].String() != want.has.String() {
			t.Errorf("%s is read again as %v", text, again.Endpoints)
		}
	}
}

func TestEndpointsThatAreRefused(t *testing.T) {
	for text, says := range map[string]string{
		"{push: {a: b}}":                                               "write a URL, or a list of URLs",
		"{push: ['http://127.0.0.1:7007', '']}":                        "write the URL",
		"{push: ['http://127.0.0.1:7007', 'http://127.0.0.1:7007/']}":  "endpoints.push has http://127.0.0.1:7007 twice",
		"{push: ['http://127.0.0.1:7007', 'http://192.0.2.1:7007']}":   "services on other hosts are called over TLS",
		"{push: ['http://127.0.0.1:7007', 'https://127.0.0.1:7017']}":  "tls is not set",
		"{pusch: ['http://127.0.0.1:7007', 'http://127.0.0.1:7017']}":  "no service is called pusch",
		"['http://127.0.0.1:7007']":                                    "endpoints",
		"{push: [['http://127.0.0.1:7007'], 'http://127.0.0.1:7017']}": "write a URL, or a list of URLs",
	} {
		file := filepath.Join(t.TempDir(), "millrace.yaml")
		if err := os.WriteFile(file, []byte("endpoints: "+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadConfig(file); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}

// A process finds its own address among those of all replicas, or is refused with what to write.
func TestTheOwnAddressOfAReplica(t *testing.T) {
	here := func(host string) bool { return host == "h1" || host == "192.0.2.1" }
	for name, tt := range map[string]struct {
		all        addresses
		want, says string
	}{
		"one":                         {addresses{"https://h9:7007"}, "h9:7007", ""},
		"the first":                   {addresses{"https://h1:7007", "https://h2:7007"}, "h1:7007", ""},
		"the second":                  {addresses{"https://h2:7007", "https://192.0.2.1:7007"}, "192.0.2.1:7007", ""},
		"none":                        {nil, "", "endpoints.push is missing: write the URL"},
		"without a port":              {addresses{"https://h1:7007", "https://h2"}, "", `endpoints.push is "https://h2": write the URL at which others reach this service, with its port`},
		"none of this host":           {addresses{"https://h2:7007", "https://h3:7007"}, "", "none of endpoints.push (https://h2:7007, https://h3:7007) is an address of this host: say where this process listens, such as --listen :7001"},
		"two of this host":            {addresses{"https://h2:7007", "https://h1:7007", "https://h1:7017"}, "", "several of endpoints.push are addresses of this host: say which one is this process's, such as --listen h1:7007"},
		"two names of the same place": {addresses{"https://h1:7007", "https://192.0.2.1:7007"}, "", "several of endpoints.push"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ownAddress("push", tt.all, here)
			if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %q and %v, want %q and %q", got, err, tt.want, tt.says)
			}
		})
	}
}

func TestWhatIsOnThisHost(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1": true, "127.0.1.1": true, "::1": true, "localhost": true, "192.0.2.77": false, "no-such-host.invalid": false} {
		if got := onThisHost(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
