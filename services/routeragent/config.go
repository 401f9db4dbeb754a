package routeragent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/trace"
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
	// Roles by common name of the client certificate: viewer reads, operator writes. Who is named neither here nor in
	// UnitRoles may do nothing.
	Roles map[string]string `yaml:"roles"`
	// UnitRoles by organizational unit of the client certificate, for common names without a role of their own.
	UnitRoles map[string]string `yaml:"unit_roles"`
	// Users is a file of users who log in with username and password
	// in the metadata of a call; see users.go. Empty for none.
	Users string `yaml:"users"`
	// Metrics is host:port of plain HTTP with /metrics and /healthz; empty for none.
	Metrics string `yaml:"metrics"`
	// Tracing says where spans of gNMI calls are sent; see docs/reference/tracing.md. Default: nowhere.
	Tracing trace.Configuration `yaml:"tracing"`
	// Memory in bytes: while the agent holds more, reading calls are refused. Default 1 GiB.
	Memory uint64 `yaml:"memory"`
}

// TLS names PEM files.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CA signed the clients' certificates.
	CA string `yaml:"ca"`
	// CRL holds lists of the clients' revoked certificates, signed by CA; empty: none is revoked.
	CRL string `yaml:"crl"`
	// ClientCertificates is "required" (default), or "optional": then a user's password will do.
	ClientCertificates string `yaml:"client_certificates"`
}

// Values of TLS.ClientCertificates.
const (
	CertificatesRequired = "required"
	CertificatesOptional = "optional"
)

// Interface is the link behind an interface.
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

const defaultMemory = 1 << 30

// DefaultConfiguration is what agent.yaml need not say.
func DefaultConfiguration() Configuration {
	return Configuration{Listen: "127.0.0.1:9339", DataDir: "/var/lib/millrace/agent", Memory: defaultMemory}
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
	for _, p := range []*string{&cfg.TLS.Cert, &cfg.TLS.Key, &cfg.TLS.CA, &cfg.TLS.CRL, &cfg.DataDir, &cfg.Users} {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, fmt.Errorf("agent configuration %s: %w", file, err)
	}
	return cfg, nil
}

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	switch {
	case c.Name == "":
		return errors.New("name is missing; write the router's name in the inventory")
	case c.TLS.Cert == "" || c.TLS.Key == "" || c.TLS.CA == "":
		return errors.New("tls needs cert, key and ca; there is no plaintext mode")
	}
	switch c.TLS.ClientCertificates {
	case "", CertificatesRequired:
	case CertificatesOptional:
		if c.Users == "" {
			return errors.New("tls.client_certificates is optional and there is no users file: nobody could log in; name one in users")
		}
	default:
		return fmt.Errorf("tls.client_certificates is %q; write required or optional", c.TLS.ClientCertificates)
	}
	if len(c.Roles)+len(c.UnitRoles) == 0 && c.Users == "" {
		return errors.New("roles is missing: nobody could log in; name who may, by the common name of the client certificate, such as roles: {controller: operator}")
	}
	for _, roles := range []map[string]string{c.Roles, c.UnitRoles} {
		for name, role := range roles {
			if err := checkRole(role); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func checkRole(role string) error {
	if role != RoleViewer && role != RoleOperator {
		return fmt.Errorf("role %q; write viewer or operator", role)
	}
	return nil
}
