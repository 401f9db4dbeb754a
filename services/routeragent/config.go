package routeragent

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/access"
	"github.com/millrace/millrace/internal/mtls"
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
	// Roles by common name, URI or DNS name of the client certificate: viewer reads, operator writes. Who is named
	// neither here nor in UnitRoles may do nothing. Both are read again when the file changes; the rest is not.
	Roles map[string]access.Role `yaml:"roles"`
	// UnitRoles by organizational unit of the client certificate, for certificates of which no name has a role.
	UnitRoles map[string]access.Role `yaml:"unit_roles"`
	// Users is a file of users who log in with username and password
	// in the metadata of a call; see users.go. Empty for none.
	Users string `yaml:"users"`
	// Metrics is host:port of plain HTTP with /metrics and /healthz; empty for none.
	Metrics string `yaml:"metrics"`
	// Tracing says where spans of gNMI calls are sent; see docs/reference/tracing.md. Default: nowhere.
	Tracing trace.Configuration `yaml:"tracing"`
	// Memory in bytes: while the agent holds more, reading calls are refused. Default 1 GiB.
	Memory uint64 `yaml:"memory"`
	// SetsPerSecond is how many Sets one client may make in the long run; twenty times as many may come at once.
	// Default 10.
	SetsPerSecond float64 `yaml:"sets_per_second"`
	// file is what this was loaded from; empty: it was made in another way.
	file string
}

// TLS names PEM files.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CA signed the clients' certificates.
	CA string `yaml:"ca"`
	// CRL holds lists of the clients' revoked certificates, signed by CA; empty: none is revoked.
	CRL string `yaml:"crl"`
	// CRLOverdue is what a list past its nextUpdate is good for: "use" (default), or "refuse", which refuses every
	// certificate of its CA.
	CRLOverdue string `yaml:"crl_overdue"`
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

// Role is what a client may do.
type Role = access.Role

// Roles a client can have.
const (
	RoleViewer   = access.Viewer
	RoleOperator = access.Operator
)

const (
	defaultMemory = 1 << 30
	defaultSets   = 10
)

// DefaultConfiguration is what agent.yaml need not say.
func DefaultConfiguration() Configuration {
	return Configuration{Listen: "127.0.0.1:9339", DataDir: "/var/lib/millrace-agent", Memory: defaultMemory, SetsPerSecond: defaultSets}
}

// Load reads agent.yaml. Unknown keys are errors; relative file names start at its folder.
func Load(file string) (Configuration, error) {
	cfg := DefaultConfiguration()
	cfg.file = file
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
	switch c.TLS.CRLOverdue {
	case "", mtls.UseOverdue, mtls.RefuseOverdue:
	default:
		return fmt.Errorf("tls.crl_overdue is %q; write %s or %s", c.TLS.CRLOverdue, mtls.UseOverdue, mtls.RefuseOverdue)
	}
	if c.SetsPerSecond < 0 {
		return fmt.Errorf("sets_per_second is %g; write a positive number, such as %d", c.SetsPerSecond, defaultSets)
	}
	if c.access().Empty() && c.Users == "" {
		return errors.New("roles is missing: nobody could log in; name who may, by the common name of the client certificate, such as roles: {controller: operator}")
	}
	return c.access().Check()
}

// access are the roles of certificates.
func (c Configuration) access() access.Roles { return access.Roles{Names: c.Roles, Units: c.UnitRoles} }

// watchRoles reads the roles again when the file changes that the configuration was loaded from.
func (c Configuration) watchRoles(log *slog.Logger, refused func(bool)) (*access.Watched[access.Roles], error) {
	if c.file == "" {
		return access.Watch(log, refused, func() (access.Roles, error) { return c.access(), nil })
	}
	load := func() (access.Roles, error) {
		now, err := Load(c.file)
		return now.access(), err
	}
	return access.Watch(log, refused, load, c.file)
}
