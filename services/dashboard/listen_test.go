package dashboard

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
)

// handOver gives the descriptor away as fork and exec would: a copy that no
// os.File of ours closes behind the new owner's back.
func handOver(t *testing.T, f *os.File) uintptr {
	t.Helper()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return uintptr(fd)
}

func TestServesOnAnInheritedSocket(t *testing.T) {
	parent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parent.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	want := parent.Addr().String()
	parent.Close() // the parent is gone; the socket lives on in the descriptor
	ln, err := InheritedListener(handOver(t, file))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, ln)
	if got := r.Addr().String(); got != want {
		t.Errorf("serves on %s, want the inherited %s", got, want)
	}
	resp, err := http.Get("http://" + want + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestInheritedDescriptorMustBeASocket(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if ln, err := InheritedListener(handOver(t, file)); err == nil {
		t.Errorf("a plain file became listener %v", ln.Addr())
	}
}

func TestListeningOffTheLoopbackMustBeWanted(t *testing.T) {
	for name, tt := range map[string]struct {
		listen string
		remote bool
		fails  bool
	}{
		"loopback is always fine":                {"127.0.0.1:0", false, false},
		"so is any of its addresses":             {"127.7.7.7:0", false, false},
		"all addresses need allow_remote":        {"0.0.0.0:0", false, true},
		"no address at all means all of them":    {":0", false, true},
		"with allow_remote it is the operator's": {"0.0.0.0:0", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfiguration()
			cfg.Listen, cfg.AllowRemote = tt.listen, tt.remote
			c, err := New(cfg, Dependencies{Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			err = c.Start(t.Context())
			defer c.Stop(t.Context()) //nolint:errcheck // what Start did is the test
			if (err != nil) != tt.fails {
				t.Errorf("start: %v, want failure: %v", err, tt.fails)
			}
		})
	}
}

func TestConfigurationSaysWhatToWrite(t *testing.T) {
	for name, spoil := range map[string]func(*Configuration){
		"a port without a host separator": func(c *Configuration) { c.Listen = "8080" },
		"no room for events":              func(c *Configuration) { c.RecentEvents = 0 },
	} {
		cfg := DefaultConfiguration()
		spoil(&cfg)
		if _, err := New(cfg, Dependencies{}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
