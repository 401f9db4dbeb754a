package peagent

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/pki"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// controlled is an agent with a control port, and the control plane's client. The port is in the PE's namespace, so the
// client dials there.
type controlled struct {
	n     *network
	ca    *pki.Authority
	agent *Agent
	vpnv1connect.VpnAgentServiceClient
}

const controlAddress = "10.0.1.1:4757"

func newControlled(t *testing.T) *controlled {
	t.Helper()
	c := &controlled{n: newNetwork(t, 2), ca: pki.New(t)}
	c.VpnAgentServiceClient = vpnv1connect.NewVpnAgentServiceClient(c.client(t, c.ca, "controller"), "https://"+controlAddress)
	c.start(t)
	return c
}

func (c *controlled) client(t *testing.T, signer *pki.Authority, name string) *http.Client {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(signer.Issue(t, name))
	if err != nil {
		t.Fatal(err)
	}
	dial := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: c.ca.Pool(), Certificates: []tls.Certificate{cert}}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		DialContext: c.n.dialer("p", dial),
	}}
}

func (c *controlled) start(t *testing.T) {
	t.Helper()
	file := c.n.Write("weights.yaml", "policy: own\nvpns: [{name: vpn1, weight: 3}]\n")
	c.agent = c.n.start(1, func(cfg *Configuration) {
		cfg.Weights = file
		cfg.Control = Control{Listen: controlAddress, CA: c.ca.CA, Controllers: []string{"controller"}}
		cfg.Control.Cert, cfg.Control.Key = c.ca.Issue(t, "pe1", "10.0.1.1")
	})
}

func installation(number uint64, weights ...*vpnv1.Weight) *connect.Request[vpnv1.InstallRequest] {
	return connect.NewRequest(&vpnv1.InstallRequest{
		Version: &vpnv1.Version{Number: number, Id: fmt.Sprint("id", number)}, Policy: "shares", Criterion: "weighted", Weights: weights,
	})
}

func (c *controlled) want(t *testing.T, weights map[string]float64, version uint64) {
	t.Helper()
	if d := cmp.Diff(c.agent.Weights().Weights, weights); d != "" {
		t.Errorf("weights (-got +want):\n%s", d)
	}
	if got := c.agent.installedVersion().GetNumber(); got != version {
		t.Errorf("version %d, want %d", got, version)
	}
}

// TestInstalledWeightsAreKept: over a restart, before the policy file, and until a hand changes them.
func TestInstalledWeightsAreKept(t *testing.T) {
	c := newControlled(t)
	c.want(t, map[string]float64{"vpn1": 3, "vpn2": 1}, 0)
	// VPNs of other PEs are no error: the control plane installs the same weights on all PEs.
	if _, err := c.Install(t.Context(), installation(7, &vpnv1.Weight{Vpn: "vpn2", Weight: 5}, &vpnv1.Weight{Vpn: "elsewhere", Weight: 2})); err != nil {
		t.Fatal(err)
	}
	c.want(t, map[string]float64{"vpn1": 1, "vpn2": 5}, 7)
	for _, f := range c.agent.Flows() {
		if want := map[string]float64{"vpn1": 1, "vpn2": 5}[f.VPN]; f.Weight != want {
			t.Errorf("flow of %s has weight %g, want %g", f.VPN, f.Weight, want)
		}
	}
	for range 2 {
		if err := c.agent.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.start(t)
		c.want(t, map[string]float64{"vpn1": 1, "vpn2": 5}, 7)
	}
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(c.agent.cfg.Weights, later, later); err != nil {
		t.Fatal(err)
	}
	c.agent.reload()
	c.want(t, map[string]float64{"vpn1": 1, "vpn2": 5}, 7)

	if err := c.agent.SetWeights(map[string]float64{"vpn1": 9}); err != nil {
		t.Fatal(err)
	}
	c.want(t, map[string]float64{"vpn1": 9, "vpn2": 5}, 0)
	again := installation(7, &vpnv1.Weight{Vpn: "vpn2", Weight: 5})
	if _, err := c.Install(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	c.want(t, map[string]float64{"vpn1": 1, "vpn2": 5}, 7)
}

// TestWhatCannotBeInstalled leaves everything as it is, also on disk.
func TestWhatCannotBeInstalled(t *testing.T) {
	c := newControlled(t)
	if _, err := c.Install(t.Context(), installation(1, &vpnv1.Weight{Vpn: "vpn1", Weight: 2})); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(c.agent.cfg.State)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]*connect.Request[vpnv1.InstallRequest]{
		"a weight of 0":  installation(2, &vpnv1.Weight{Vpn: "vpn2", Weight: 5}, &vpnv1.Weight{Vpn: "vpn1"}),
		"a name twice":   installation(2, &vpnv1.Weight{Vpn: "vpn1", Weight: 5}, &vpnv1.Weight{Vpn: "vpn1", Weight: 6}),
		"no name":        installation(2, &vpnv1.Weight{Weight: 5}),
		"no version":     connect.NewRequest(&vpnv1.InstallRequest{}),
		"not all of one": connect.NewRequest(&vpnv1.InstallRequest{Version: &vpnv1.Version{Number: 2}}),
	} {
		if _, err := c.Install(t.Context(), bad); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.want(t, map[string]float64{"vpn1": 2, "vpn2": 1}, 1)
	if now, err := os.ReadFile(c.agent.cfg.State); err != nil || string(now) != string(kept) {
		t.Errorf("kept %s, %v; before %s", now, err, kept)
	}

	stranger := vpnv1connect.NewVpnAgentServiceClient(c.client(t, pki.New(t), "controller"), "https://"+controlAddress)
	if _, err := stranger.Install(t.Context(), installation(3)); err == nil {
		t.Error("a controller that another CA signed was believed")
	}
	c.want(t, map[string]float64{"vpn1": 2, "vpn2": 1}, 1)
	if err := os.WriteFile(c.agent.cfg.State, kept[:len(kept)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	without := newAgent(c.agent.cfg, Dependencies{})
	if without.readInstalled(); without.installedVersion() != nil || os.Remove(c.agent.cfg.State+".unreadable") != nil {
		t.Errorf("half a file: version %v; want none, and the file moved aside", without.installedVersion())
	}
	if without.readInstalled(); without.installedVersion() != nil {
		t.Error("no file is no version")
	}
}

// TestAnAgentStartsWhateverItsDiskHolds: a power cut leaves files empty or half written, and a full disk takes none.
func TestAnAgentStartsWhateverItsDiskHolds(t *testing.T) {
	n := newNetwork(t, 1)
	state := n.config(1).State
	for _, left := range []string{"", "{\"version\": {\"numb", "\x00\x00\x00"} {
		for _, file := range []string{state, state + ".sequence"} {
			if err := os.WriteFile(file, []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		n.stop(n.start(1, nil))
	}
	// No file can be made below a file, which is what a full disk comes to for root.
	full := n.Write("full", "")
	a := n.start(1, func(c *Configuration) { c.State = full + "/weights.json" })
	if a.numbers.Next(time.Now()) == 0 {
		t.Error("no number")
	}
	if _, err := (installer{a}).Install(t.Context(), installation(1, &vpnv1.Weight{Vpn: "vpn1", Weight: 2})); connect.CodeOf(err) != connect.CodeInternal {
		t.Errorf("weights that cannot be kept: %v, want an error", err)
	}
}
