package peagent

import (
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/services/peagent/law"
	"github.com/millrace/millrace/services/peagent/management"
)

// weight returns the weight of a VPN: the policy's, or 1 where it has none.
func (a *Agent) weight(vpn int) float64 {
	if w, ok := a.policy.Weights[a.cfg.VPNs[vpn].Name]; ok {
		return w
	}
	return 1
}

// SetWeights changes weights of running flows at once. They are then no longer those of the control plane, which
// notices and installs its own again.
func (a *Agent) SetWeights(changed map[string]float64) error {
	names := map[string]bool{}
	for _, v := range a.cfg.VPNs {
		names[v.Name] = true
	}
	for name, w := range changed {
		if !names[name] {
			return fmt.Errorf("no VPN here is called %s", name)
		}
		if !(w > 0 && w <= vpnshare.MaxWeight) {
			return fmt.Errorf("weight %g of VPN %s: use more than 0 and at most %g", w, name, float64(vpnshare.MaxWeight))
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, w := range changed {
		a.policy.Weights[name] = w
	}
	a.version = nil
	a.applyWeights()
	return nil
}

// applyWeights sets the policy's weights on the flows.
func (a *Agent) applyWeights() {
	var flows []*law.Flow
	var to []float64
	changed := false
	for i := range a.reg.flows {
		f := &a.reg.flows[i]
		if f.to != nil {
			w := a.weight(int(f.vpn))
			changed = changed || w != f.Weight
			flows, to = append(flows, &f.Flow), append(to, w)
		}
	}
	if changed {
		law.SetWeights(&a.law, flows, to)
		a.log.Info("weights changed", "criterion", a.policy.Criterion)
	}
}

// Weights returns the weights in force.
func (a *Agent) Weights() vpnshare.Policy {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := vpnshare.Policy{Name: a.policy.Name, Criterion: a.policy.Criterion, Weights: map[string]float64{}}
	for i, v := range a.cfg.VPNs {
		p.Weights[v.Name] = a.weight(i)
	}
	return p
}

// installedVersion is the version that the control plane installed; number 0 where it is not in force.
func (a *Agent) installedVersion() *vpnv1.Version {
	a.mu.Lock()
	defer a.mu.Unlock()
	return proto.CloneOf(a.version)
}

// reload reads the files of keys and weights again where they have changed. After an error the last ones stay in force.
func (a *Agent) reload() {
	if a.roles != nil {
		a.roles.Get() // which reports those that cannot be used
	}
	if modified(a.cfg.Keys, &a.keysRead) {
		keys, err := management.LoadKeys(a.cfg.Keys)
		if err == nil {
			err = a.useKeys(keys)
		}
		a.report("keys", err)
	}
	if a.cfg.Weights != "" && modified(a.cfg.Weights, &a.weightsRead) {
		a.report("weights", a.reloadWeights())
	}
}

func (a *Agent) reloadWeights() error {
	p, err := loadWeights(a.cfg.Weights)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.version != nil {
		return fmt.Errorf("the control plane's version %d is in force; change it there", a.version.GetNumber())
	}
	a.policy = p
	a.applyWeights()
	return nil
}

// loadWeights reads a policy file. For max-min fairness the links must be in it: an agent knows no topology.
func loadWeights(path string) (vpnshare.Policy, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return vpnshare.Policy{}, fmt.Errorf("read weights: %w", err)
	}
	f, err := vpnshare.Parse(raw)
	if err != nil {
		return vpnshare.Policy{}, fmt.Errorf("weights %s: %w", path, err)
	}
	p, err := f.Compile(nil)
	if err != nil {
		return vpnshare.Policy{}, fmt.Errorf("weights %s: %w", path, err)
	}
	return p, nil
}

func (a *Agent) report(what string, err error) {
	if err != nil {
		a.log.Error(what+" not read; the last ones stay in force", "error", err)
		return
	}
	a.log.Info(what + " read")
}

func (a *Agent) useKeys(keys *management.Keyring) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.dp.SetKeys(keys); err != nil {
		return err
	}
	a.keys = keys
	a.requests.key, _ = keys.Signing()
	return nil
}

// modified reports whether a file has changed since the last call.
func modified(path string, seen *time.Time) bool {
	info, err := os.Stat(path)
	if err != nil || info.ModTime().Equal(*seen) {
		return false
	}
	*seen = info.ModTime()
	return true
}
