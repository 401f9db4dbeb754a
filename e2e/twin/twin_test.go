package twin

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/e2e/scenario"
)

func load(t *testing.T, name string) *scenario.Scenario {
	s, err := scenario.Load(filepath.Join("..", "scenarios", name))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The scheduler's arithmetic does not hang on TCP: here the twin has to meet every expectation that the lab meets.
func TestTheOrderOfServiceAsInTheLab(t *testing.T) {
	r, err := Run(context.Background(), load(t, "geant-lbe-credit"), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Verdicts {
		if v.Skipped != "" || v.Unmet() {
			t.Errorf("%s", v)
		}
	}
}

func TestARunThatIsStoppedSaysWhatItKnows(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Run(ctx, load(t, "geant-lbe-credit"), Options{})
	if err != nil || r.Stopped == "" {
		t.Errorf("stopped %+v, error %v", r, err)
	}
}

func TestWhatCannotBeSimulatedIsRefusedWithItsPlace(t *testing.T) {
	const good = `name: small
routers:
  - {name: R1, agent: true}
  - {name: R2}
hosts:
  - {name: H1, address: 10.1.1.2/24, gateway: 10.1.1.1}
  - {name: H2, address: 10.2.1.2/24, gateway: 10.2.1.1}
links:
  - {a: "R1:ge-0", b: "R2:ge-0", rate: 10Mbit/s, delay: 1ms}
  - {a: "H1:eth0", b: "R1:ge-1", rate: 10Mbit/s}
  - {a: "H2:eth0", b: "R2:ge-1", rate: 10Mbit/s}
phases:
  - name: one
    applications:
      - {name: bulk, kind: tcp, from: H1, to: H2, port: 1, stop: 2s}
`
	run := func(text string) error {
		s, err := scenario.Parse("scenario.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(context.Background(), s, Options{})
		return err
	}
	if err := run(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a congestion control nobody wrote", "port: 1,", "port: 1, congestion_control: bbr,", "scenario.yaml:15:80: congestion control bbr"},
		{"a router with programs of its own", "{name: R2}", "{name: R2, daemons: [{name: x, command: [y]}]}", "programs or FRR configuration"},
		{"no path", `  - {a: "R1:ge-0", b: "R2:ge-0", rate: 10Mbit/s, delay: 1ms}` + "\n", "", "there is no path from R1 to R2"},
		{"a policy nobody wrote", "  - name: one\n", "  - name: one\n    policy: {use: nothing}\n", "scenario.yaml:14:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the good scenario", c.old)
			}
			if err := run(text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}
