package i2vfc

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/e2e/lab"
	"github.com/millrace/millrace/e2e/scenario"
	"github.com/millrace/millrace/internal/units"
)

const root = "../.."

var full = flag.Bool("full", false, "all of the paper's settings of a and b, not one")

// The test binary is also what runs inside the labs it boots.
func TestMain(m *testing.M) {
	if lab.Reexec(os.Args[1:]) {
		return
	}
	os.Exit(m.Run())
}

// run runs a scenario's lab and logs the tables.
func run(t *testing.T, name string, change func(*scenario.Scenario, []byte) []byte, settings ...Setting) []*Result {
	t.Helper()
	if testing.Short() {
		t.Skip("takes minutes; leave -short away")
	}
	binary := filepath.Join(root, "bin", "millrace")
	if own := os.Getenv("MILLRACE_BINARY"); own != "" {
		binary = own
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%s is missing: run make build", binary)
	}
	folder := filepath.Join(root, "e2e/scenarios", name)
	s, err := scenario.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := os.ReadFile(filepath.Join(folder, "weights.yaml"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if change != nil {
		policy = change(s, policy)
	}
	output, err := filepath.Abs(filepath.Join(root, "out", name))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Run(t.Context(), s, Options{
		Output: output, Binary: binary, Settings: settings, Weights: policy, Progress: func(text string) { t.Log(text) },
		Lab: lab.Options{Name: name + "-test"},
	})
	for _, r := range all {
		t.Logf("\n%s%s", r.Table(), r.Flows)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSingle: paper 001, figures 3 and 4: F above 0.9 and the line full.
func TestSingle(t *testing.T) {
	settings := []Setting{{0.1, 0.1}}
	if *full {
		settings = []Setting{{0.01, 0.1}, {0.1, 0.1}, {1, 0.1}, {0.01, 0.25}, {0.1, 0.25}, {1, 0.25}}
	}
	all := run(t, "i2vfc-single", nil, settings...)
	for _, r := range all {
		t.Logf("%s %+v: F of each second %.3f, of 40 s %.3f, total %.1f Mbit/s", r.Name, r.Setting, r.F(11, 51, 1), r.F(11, 51, 40), r.Total(11, 51))
	}
	for _, r := range all[1:] {
		if f := r.F(11, 51, 1); f < 0.9 {
			t.Errorf("%+v: F %.3f; the paper has more than 0.9", r.Setting, f)
		}
		// 50 Mbit/s less 15 of background, of which 1448 of 1526 bytes are goodput.
		if x := r.Total(11, 51); x < 0.9*33 {
			t.Errorf("%+v: %.1f Mbit/s of the 33 that are left", r.Setting, x)
		}
	}
	if all[0].F(11, 51, 1) >= all[1].F(11, 51, 1) {
		t.Error("the agent makes it no fairer")
	}
}

// TestIntra: paper 001, figure 5: fairness inside VPNs of two connections is better with the agent than without.
func TestIntra(t *testing.T) {
	all := run(t, "i2vfc-intra", nil, Setting{0.1, 0.1})
	intra := make([]float64, len(all))
	for i, r := range all {
		for _, v := range r.VPNs {
			intra[i] += r.Intra(v, 11, 51) / float64(len(r.VPNs))
		}
		t.Logf("%s: intra-VPN F %.3f, inter-VPN F %.3f, total %.1f Mbit/s", r.Name, intra[i], r.F(11, 51, 1), r.Total(11, 51))
	}
	if intra[1] < 0.9 || intra[1] < intra[0]-0.01 {
		t.Errorf("F %.3f with, %.3f without; the paper has 0.92 and 0.748", intra[1], intra[0])
	}
}

// TestMulti: paper 001, figure 8: F above 0.95 over several bottlenecks.
func TestMulti(t *testing.T) {
	rates := []int{30}
	if *full {
		rates = []int{10, 20, 30}
	}
	for _, b3 := range rates {
		t.Run(fmt.Sprintf("B3=%d", b3), func(t *testing.T) {
			all := run(t, "i2vfc-multi", func(s *scenario.Scenario, policy []byte) []byte {
				s.Links[2].Rate = units.Rate(b3) * 1e6
				return bytes.Replace(policy, []byte("30Mbit/s"), fmt.Appendf(nil, "%dMbit/s", b3), 1)
			}, Setting{0.5, 0.05})
			for _, r := range all {
				t.Logf("%s: F of each second %.3f, of 30 s %.3f", r.Name, r.F(21, 51, 1), r.F(21, 51, 30))
			}
			if f := all[1].F(21, 51, 5); f < 0.95 {
				t.Errorf("F %.3f; the paper has more than 0.95", f)
			}
		})
	}
}

// TestPrototype: paper 001, section IV-B: equal by 25 s, intra-VPN F 0.99.
func TestPrototype(t *testing.T) {
	settings := []Setting{{0.1, 0.1}}
	if *full {
		settings = append(settings, Setting{0.01, 0.1})
	}
	all := run(t, "i2vfc-prototype", nil, settings...)
	for _, r := range all {
		t.Logf("%s %+v: inter-VPN F from 26 s %.3f; intra-VPN F of vpn2 %.3f, vpn4 %.3f", r.Name, r.Setting, r.F(26, 46, 2), r.Intra("vpn2", 26, 46), r.Intra("vpn4", 26, 46))
	}
	r := all[1]
	// The paper's VPNs are "almost equal at approximately t = 25 s". One Reno connection fills its VPN's share only
	// as far as losses in the core let it, which are as frequent as the law's own decreases.
	if f := r.F(26, 46, 2); f < 0.9 || f < all[0].F(26, 46, 2) {
		t.Errorf("F %.3f from 26 s on, %.3f without the agent", f, all[0].F(26, 46, 2))
	}
	for _, v := range []string{"vpn2", "vpn4"} {
		if f := r.Intra(v, 26, 46); f < 0.95 {
			t.Errorf("intra-VPN F of %s %.3f; the paper has 0.99", v, f)
		}
	}
}
