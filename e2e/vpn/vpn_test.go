// Package vpn proves that VPN weights go all the way: from a policy file
// through the control plane to the agents of two PEs, into the ratio of what
// TCP gets, and back into telemetry.
//
// In: the millrace binary (MILLRACE_BINARY, or built here), libchdb.so, root.
// Out: one test of three real processes and real traffic. Next:
// docs/reference/vpn.md has the guarantees for an operator.
package vpn

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/testkit/program"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
)

const policy = "policy: shares\nvpns: [{name: vpn1, weight: %d}, {name: vpn2, weight: %d}]\n"

func TestWeightsGoAllTheWay(t *testing.T) {
	program.NeedLibrary(t)
	p := newPlane(t)
	p.net.Write("policies/shares.yaml", fmt.Sprintf(policy, 1, 4))
	p.start("up")
	p.start("pe1")
	p.start("pe2")
	p.allHave(1)
	p.net.send(1)
	p.net.send(2)
	p.net.ratio(2.5, 6)

	p.net.Write("policies/shares.yaml", fmt.Sprintf(policy, 4, 1))
	p.allHave(2)
	p.net.ratio(1/6.0, 1/2.5)
	p.telemetry()
	p.lists()

	// The loss of an agent is reported, and a change meanwhile reports that it did not reach the agent.
	p.kill("pe1")
	program.Until(t, "pe1 is reported", func() (bool, any) {
		pe := p.pe("pe1")
		return !pe.GetConnected() && pe.GetError() != "", pe
	})
	p.event("vpn-pe-down", "pe1")
	out, code := p.cli("p", "vpn", "weights", "vpn1=2", "--reason", "a test", "--by", "anna")
	if code != 3 || !strings.Contains(out, "vpn1 4 -> 2") || !strings.Contains(out, "pe1 does not have it yet") {
		t.Errorf("a change that does not reach pe1 ended with %d: %s", code, out)
	}
	if got := p.pe("pe2"); !got.GetCurrent() {
		t.Errorf("pe2 was to have it: %v", got)
	}
	// Without the control plane the agent comes back with the weights it had, by itself.
	p.kill("up")
	p.start("pe1")
	program.Until(t, "pe1 answers with the weights it had", func() (bool, any) {
		r, err := p.agents["pe1"].Weights(t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
		if err != nil {
			return false, err
		}
		return r.Msg.GetVersion().GetNumber() == 2 && r.Msg.GetWeights()[0].GetWeight() == 4, r.Msg
	})
	// And with the control plane back, which reads its state from etcd, it gets the version that it missed.
	p.start("up")
	p.allHave(3)
	out, code = p.cli("p", "vpn", "weights", "--undo", "--reason", "it was only a test", "--by", "anna")
	if code != 0 || !strings.Contains(out, "back to version 2") {
		t.Errorf("undo ended with %d: %s", code, out)
	}
	p.allHave(4)
	p.net.ratio(1/6.0, 1/2.5)
}

// telemetry waits until flows and fairness are stored as they were.
func (p *plane) telemetry() {
	p.t.Helper()
	program.Until(p.t, "the store has the flows", func() (bool, any) {
		now := time.Now()
		r, err := p.store.VpnSeries(p.t.Context(), connect.NewRequest(&flowv1.VpnSeriesRequest{From: timestamppb.New(now.Add(-3 * time.Second)), To: timestamppb.New(now)}))
		if err != nil {
			return false, err
		}
		found := map[string]*flowv1.VpnPoint{}
		for _, f := range r.Msg.GetFlows() {
			if f.GetIngress() == "10.255.0.1" && f.GetEgress() == "10.255.0.2" && len(f.GetPoints()) > 0 {
				found[f.GetVpn()] = f.GetPoints()[len(f.GetPoints())-1]
			}
		}
		one, two := found["vpn1"], found["vpn2"]
		if one == nil || two == nil || len(r.Msg.GetFairness()) == 0 {
			return false, r.Msg
		}
		share := one.GetFairShare() / max(two.GetFairShare(), 1)
		f := r.Msg.GetFairness()[len(r.Msg.GetFairness())-1]
		return share > 3.99 && share < 4.01 && one.GetWeight() == 4 && one.GetRttSeconds() > 0 && one.GetWindow() > 0 && f.GetFairness() > 0 && f.GetFairness() <= 1 && f.GetActive() >= 2, r.Msg
	})
}

// lists holds what the command line shows of the network and of one agent.
func (p *plane) lists() {
	p.t.Helper()
	out, code := p.cli("p", "vpn", "list")
	if code != 0 || !strings.Contains(out, "FAIR SHARE") || strings.Count(out, "\nvpn") != 4 || !strings.Contains(out, "pe1      pe2") {
		p.t.Errorf("vpn list ended with %d:\n%s", code, out)
	}
	if out, code = p.cli("pe1", "vpn", "list", "--server", "http://127.0.0.1:4756"); code != 0 || !strings.Contains(out, "10.255.0.2") || !strings.Contains(out, "mode ") {
		p.t.Errorf("vpn list of an agent ended with %d:\n%s", code, out)
	}
	if out, code = p.cli("pe1", "vpn", "history", "--server", "http://127.0.0.1:4756"); code == 0 || !strings.Contains(out, "ask the control plane") {
		p.t.Errorf("history of an agent ended with %d:\n%s", code, out)
	}
	if out, code = p.cli("p", "vpn", "weights", "vpn3=2", "--reason", "x"); code != 1 || !strings.Contains(out, "there are vpn1, vpn2") {
		p.t.Errorf("an unknown VPN ended with %d:\n%s", code, out)
	}
	out, code = p.cli("p", "vpn", "weights", "--json")
	if code != 0 || !json.Valid([]byte(out)) {
		p.t.Errorf("weights --json ended with %d:\n%s", code, out)
	}
}

// cli runs a command in a node and returns its output and its exit code.
func (p *plane) cli(node string, args ...string) (string, int) {
	p.t.Helper()
	out, err := exec.Command("ip", append([]string{"netns", "exec", p.net.NS(node), program.Path}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

func (p *plane) pe(name string) *vpnv1.Pe {
	p.t.Helper()
	r, err := p.vpn.Weights(p.t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, pe := range r.Msg.GetPes() {
		if pe.GetName() == name {
			return pe
		}
	}
	p.t.Fatalf("no PE %s: %v", name, r.Msg)
	return nil
}

// allHave waits until both PEs have a version.
func (p *plane) allHave(version uint64) {
	p.t.Helper()
	program.Until(p.t, fmt.Sprintf("both PEs have version %d", version), func() (bool, any) {
		for name, process := range p.running {
			if process.Ended() {
				p.t.Fatalf("%s ended:\n%s", name, process.Tail())
			}
		}
		r, err := p.vpn.Weights(p.t.Context(), connect.NewRequest(&vpnv1.WeightsRequest{}))
		if err != nil {
			return false, err
		}
		have := 0
		for _, pe := range r.Msg.GetPes() {
			if pe.GetCurrent() && pe.GetConnected() {
				have++
			}
		}
		return have == 2 && r.Msg.GetVersion().GetNumber() == version, r.Msg
	})
}

func (p *plane) kill(name string) {
	p.t.Helper()
	p.running[name].Signal(p.t, syscall.SIGKILL)
	delete(p.running, name)
}
