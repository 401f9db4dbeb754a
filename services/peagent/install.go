package peagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/millrace/millrace/internal/vpnshare"
	vpnv1 "github.com/millrace/millrace/proto/gen/millrace/vpn/v1"
	"github.com/millrace/millrace/proto/gen/millrace/vpn/v1/vpnv1connect"
)

// installer serves the control plane.
type installer struct{ agent *Agent }

var _ vpnv1connect.VpnAgentServiceHandler = installer{}

// Install implements VpnAgentService. It saves the weights before it applies them, so that weights which the control
// plane takes for installed survive a crash.
func (s installer) Install(_ context.Context, r *connect.Request[vpnv1.InstallRequest]) (*connect.Response[vpnv1.InstallResponse], error) {
	p, err := parseInstall(r.Msg)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	a := s.agent
	a.installing.Lock()
	defer a.installing.Unlock()
	if !proto.Equal(a.installedVersion(), r.Msg.GetVersion()) {
		// Without mu: a disk that is slow for longer than FailOpen would keep the control loop from renewing the rates,
		// and every VPN would be unshaped.
		if err := a.save(r.Msg); err != nil {
			return nil, connect.NewError(connect.CodeInternal, err)
		}
		a.install(p, r.Msg.GetVersion())
	}
	return connect.NewResponse(&vpnv1.InstallResponse{Version: r.Msg.GetVersion()}), nil
}

func (a *Agent) install(p vpnshare.Policy, version *vpnv1.Version) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.policy, a.version = p, version
	a.applyWeights()
	a.log.Info("weights installed by the control plane", "version", version.GetNumber(), "policy", p.Name)
}

// parseInstall checks a request as a whole.
func parseInstall(r *vpnv1.InstallRequest) (vpnshare.Policy, error) {
	p := vpnshare.Policy{Name: r.GetPolicy(), Criterion: vpnshare.Criterion(r.GetCriterion()), Weights: map[string]float64{}}
	if r.GetVersion().GetNumber() == 0 || r.GetVersion().GetId() == "" {
		return p, errors.New("weights to install need a version with number and id")
	}
	for _, w := range r.GetWeights() {
		if _, twice := p.Weights[w.GetVpn()]; twice || w.GetVpn() == "" {
			return p, fmt.Errorf("VPN %q has no name or is listed twice", w.GetVpn())
		}
		if err := vpnshare.CheckWeight(w.GetVpn(), w.GetWeight()); err != nil {
			return p, err
		}
		p.Weights[w.GetVpn()] = w.GetWeight()
	}
	return p, nil
}

// saveInstalled writes the installed weights to the state file atomically.
func (a *Agent) saveInstalled(r *vpnv1.InstallRequest) error {
	if a.cfg.State == "" {
		return nil
	}
	raw, err := encodeInstalled(r)
	if err != nil {
		return fmt.Errorf("encode weights to keep: %w", err)
	}
	folder := filepath.Dir(a.cfg.State)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("keep weights over a restart: %w", err)
	}
	f, err := os.CreateTemp(folder, filepath.Base(a.cfg.State)+".*")
	if err != nil {
		return fmt.Errorf("keep weights over a restart: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), a.cfg.State)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep weights over a restart: %w", err), os.Remove(f.Name()))
	}
	return syncFolder(folder)
}

// syncFolder makes a rename last over a power cut.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return fmt.Errorf("keep weights over a restart: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("keep weights over a restart: %w", err)
	}
	return nil
}

// readInstalled reads the weights that a control plane installed before a restart. They go before the policy file,
// which is for agents without a control plane. A file that cannot be read, such as one that a power cut left half
// written, is moved aside: an agent without those weights shares equally, or as the policy file says, until the control
// plane sees that it lacks them; without an agent nothing is shared. One of a newer agent is left for
// that one, and treated likewise otherwise.
func (a *Agent) readInstalled() {
	if a.cfg.State == "" {
		return
	}
	raw, err := os.ReadFile(a.cfg.State)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var r *vpnv1.InstallRequest
	if err == nil {
		r, err = decodeInstalled(raw)
	}
	if errors.Is(err, errNewerFile) {
		a.metrics.errors.Inc()
		a.log.Error("the weights that the control plane installed are not taken over: started without them; the control plane installs them again",
			"file", a.cfg.State, "error", err)
		return
	}
	var p vpnshare.Policy
	if err == nil {
		p, err = parseInstall(r)
	}
	if err != nil {
		a.metrics.errors.Inc()
		aside := a.cfg.State + ".unreadable"
		a.log.Error("the weights that the control plane installed cannot be read; started without them", "file", a.cfg.State, "moved to", aside,
			"error", errors.Join(err, os.Rename(a.cfg.State, aside)))
		return
	}
	a.policy, a.version = p, r.GetVersion()
	a.log.Info("weights of the control plane taken over", "version", a.version.GetNumber(), "policy", p.Name)
}
