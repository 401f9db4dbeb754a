package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/scenario"
)

// agentConfig is agent.yaml, the router agent's configuration
// (docs/reference/routeragent.md).
type agentConfig struct {
	Name        string                `yaml:"name"`
	Listen      string                `yaml:"listen"`
	TLS         device.TLS            `yaml:"tls"`
	DataDir     string                `yaml:"data_dir"`
	FRRInstance string                `yaml:"frr_instance"`
	Interfaces  map[string]agentSpeed `yaml:"interfaces"`
	Roles       map[string]string     `yaml:"roles"`
}

// controller is the common name of the control plane's certificate, which the agents let write.
const controller = "controller"

// agentSpeed is the port speed, which a veth does not report.
type agentSpeed struct {
	Speed  uint64 `yaml:"speed"`  // bit/s
	Buffer uint64 `yaml:"buffer"` // bytes
}

// inventoryFile mirrors device.Inventory with text for addresses.
type inventoryFile struct {
	TLS     device.TLS      `yaml:"tls"`
	Devices []inventoryItem `yaml:"devices"`
}

type inventoryItem struct {
	Name      string   `yaml:"name"`
	Address   string   `yaml:"address"`
	Loopback  string   `yaml:"loopback"`
	Exporters []string `yaml:"exporters"`
}

// Inventory is the control plane's file of routers.
func (s State) Inventory() string { return filepath.Join(s.Output, "inventory.yaml") }

// writeFiles lays out, below the output folder: scenario.yaml, inventory.yaml,
// tls/{ca,controller}.*, and agents/<router>/{agent.yaml,tls.*,data/}. Routers
// are new: data/ is empty, whatever a lab before has left there.
func writeFiles(s *scenario.Scenario, output string) error {
	if err := os.WriteFile(filepath.Join(output, "scenario.yaml"), s.Text, 0o644); err != nil {
		return fmt.Errorf("write scenario: %w", err)
	}
	ca, err := newAuthority(s.Name)
	if err != nil {
		return err
	}
	tls := filepath.Join(output, "tls")
	files := device.TLS{CA: filepath.Join(tls, "ca.crt"), Cert: filepath.Join(tls, "controller.crt"), Key: filepath.Join(tls, "controller.key")}
	if err := errors.Join(os.MkdirAll(tls, 0o700), os.WriteFile(files.CA, ca.pem, 0o644), ca.issue(controller, netip.Addr{}, files.Cert, files.Key)); err != nil {
		return fmt.Errorf("write the controller's credentials: %w", err)
	}
	inventory := inventoryFile{TLS: files}
	for _, r := range s.Routers {
		addr := s.ManagementAddress(r.Name)
		inventory.Devices = append(inventory.Devices, inventoryItem{
			Name: r.Name, Address: fmt.Sprintf("%s:%d", addr, agentPort), Loopback: r.Loopback().String(), Exporters: []string{addr.String()},
		})
		if err := writeAgent(s, r, output, files.CA, ca); err != nil {
			return fmt.Errorf("write agent configuration of %s: %w", r.Name, err)
		}
	}
	return writeYAML(filepath.Join(output, "inventory.yaml"), inventory)
}

func writeAgent(s *scenario.Scenario, r scenario.Router, output, caFile string, ca *authority) error {
	path := agentConfigFile(output, r.Name)
	folder := filepath.Dir(path)
	addr := s.ManagementAddress(r.Name)
	c := agentConfig{
		Name: r.Name, Listen: fmt.Sprintf("%s:%d", addr, agentPort), FRRInstance: r.Name,
		TLS:        device.TLS{CA: caFile, Cert: filepath.Join(folder, "tls.crt"), Key: filepath.Join(folder, "tls.key")},
		DataDir:    filepath.Join(folder, "data"),
		Interfaces: map[string]agentSpeed{},
		Roles:      map[string]string{controller: "operator"},
	}
	for _, l := range s.Links {
		for _, e := range []scenario.Endpoint{l.A, l.B} {
			if e.Node == r.Name {
				c.Interfaces[e.Interface] = agentSpeed{Speed: uint64(l.Rate), Buffer: uint64(l.Buffer)}
			}
		}
	}
	return errors.Join(os.RemoveAll(c.DataDir), os.MkdirAll(c.DataDir, 0o700), ca.issue(r.Name, addr, c.TLS.Cert, c.TLS.Key), writeYAML(path, c))
}

func writeYAML(path string, v any) error {
	raw, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return os.WriteFile(path, raw, 0o644)
}
