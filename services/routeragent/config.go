package routeragent

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
)

// Configuration is agent.yaml.
type Configuration struct {
	// Name of the node, as in the inventory.
	Name string `yaml:"name"`
	// Listen is the management address, host:port. It serves TLS and nothing else.
	Listen string `yaml:"listen"`
	TLS    TLS    `yaml:"tls"`
	// DataDir holds the journal and the record of what was replaced in the kernel.
	DataDir string `yaml:"data_dir"`
	// FRRInstance is vtysh -N; empty is the default instance, "none" a router without FRR.
	FRRInstance string `yaml:"frr_instance"`
	// Interfaces give what the kernel cannot tell, by Linux name.
	Interfaces map[string]Interface `yaml:"interfaces"`
	// Roles by common name of the client certificate: viewer reads, operator writes. Without any entry every client is an operator.
	Roles map[string]string `yaml:"roles"`
}

// TLS names PEM files. Clients must present a certificate of CA.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	CA   string `yaml:"ca"`
}

// Interface is the line behind an interface.
type Interface struct {
	// Speed in bit/s; default: what ethtool says.
	Speed uint64 `yaml:"speed"`
	// Buffer in bytes; default: 100 ms at Speed.
	Buffer uint64 `yaml:"buffer"`
}

// Roles a client can have.
const (
	RoleViewer   = "viewer"
	RoleOperator = "operator"
)

// DefaultConfiguration is what agent.yaml need not say.
func DefaultConfiguration() Configuration {
	return Configuration{Listen: "127.0.0.1:9339", DataDir: "/var/lib/millrace/agent"}
}

// Load reads agent.yaml. Unknown keys are errors; relative file names start at its folder.
func Load(file string) (Configuration, error) {
	cfg := DefaultConfiguration()
	raw, err := os.ReadFile(file)
	if err != nil {
		return cfg, fmt.Errorf("read agent configuration: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(raw, &cfg, yaml.Strict()); err != nil {
		return cfg, fmt.Errorf("agent configuration %s: %s", file, yaml.FormatError(err, false, true))
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return cfg, err
	}
	for _, p := range []*string{&cfg.TLS.Cert, &cfg.TLS.Key, &cfg.TLS.CA, &cfg.DataDir} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	return cfg, cfg.check(file)
}

func (c Configuration) check(file string) error {
	switch {
	case c.Name == "":
		return fmt.Errorf("agent configuration %s: name is missing; write the router's name in the inventory", file)
	case c.TLS.Cert == "" || c.TLS.Key == "" || c.TLS.CA == "":
		return fmt.Errorf("agent configuration %s: tls needs cert, key and ca; there is no plaintext mode", file)
	}
	for name, role := range c.Roles {
		if role != RoleViewer && role != RoleOperator {
			return fmt.Errorf("agent configuration %s: role %q of %s; write viewer or operator", file, role, name)
		}
	}
	return nil
}
