// Package device is the inventory: the routers Millrace manages and how to
// reach them.
//
// In: inventory.yaml.
// Out: devices with their mTLS credentials.
// Next: the collectors and services/push, which dial them.
package device

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/millrace/millrace/internal/mtls"
)

// Inventory is the file's content.
type Inventory struct {
	// TLS holds the control plane's client certificate and the CA of the routers.
	TLS TLS `yaml:"tls"`
	// Devices are the routers and exporters, unique by name. Default none.
	Devices []Device `yaml:"devices"`
}

// TLS names PEM files; relative paths start at the inventory's folder.
type TLS struct {
	// CA signed the certificates of the routers and of the PE agents. PEM files here are relative to the inventory's
	// folder.
	CA string `yaml:"ca"`
	// Cert and Key are the control plane's own: routers know it by them.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CRL holds lists of revoked certificates of routers, signed by CA. Default none: none is revoked.
	CRL string `yaml:"crl"`
}

// Device is one router.
type Device struct {
	// Name as everywhere else: plans, change sets, the dashboard. It is required.
	Name string `yaml:"name"`
	// Address of the gNMI target, host:port. It is required.
	Address string `yaml:"address"`
	// Loopback is the router's OSPF router id and SID prefix. Default none: no router of the topology has this name,
	// so nothing is planned for it.
	Loopback netip.Addr `yaml:"loopback"`
	// Exporters are the source addresses of its NetFlow, IPFIX or sFlow. Default none: its datagrams are dropped as
	// unlisted.
	Exporters []netip.Addr `yaml:"exporters"`
	// PE is where the control plane reaches the I2VFC agent of a provider edge, host:port. Default none: the router
	// is none.
	PE string `yaml:"pe"`
	// OS selects how the router is configured: millrace, which is the router agent or any other target of OpenConfig,
	// or junos. Default millrace.
	OS OS `yaml:"os"`
	// Username and PasswordFile are sent with every request beside the client certificate, to routers that require a
	// user account. Default none.
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"password_file"`
}

// OS is a router's operating system, which decides how it is configured.
type OS string

// The operating systems; each has a row in the vendors' table of cmd/millrace.
const (
	OSMillrace OS = "millrace"
	OSJunos    OS = "junos"
)

// OSes are those that an inventory may name; each is a row of vendors in cmd/millrace.
var OSes = []OS{OSMillrace, OSJunos}

// OrDefault is OSMillrace where the inventory gives no os.
func (o OS) OrDefault() OS { return cmp.Or(o, OSMillrace) }

// Load reads and checks an inventory file. Errors start with file:line.
func Load(path string) (*Inventory, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read inventory: %w", err)
	}
	inv, err := parse(source{path, raw})
	if err != nil {
		return nil, fmt.Errorf("inventory %w", err)
	}
	files := []*string{&inv.TLS.CA, &inv.TLS.Cert, &inv.TLS.Key, &inv.TLS.CRL}
	for i := range inv.Devices {
		files = append(files, &inv.Devices[i].PasswordFile)
	}
	for _, p := range files {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(filepath.Dir(path), *p)
		}
	}
	return inv, nil
}

// ByName finds a device.
func (inv *Inventory) ByName(name string) (Device, bool) {
	for _, d := range inv.Devices {
		if d.Name == name {
			return d, true
		}
	}
	return Device{}, false
}

// ByExporter finds the device that exports flows from addr.
func (inv *Inventory) ByExporter(addr netip.Addr) (Device, bool) {
	for _, d := range inv.Devices {
		for _, e := range d.Exporters {
			if e == addr.Unmap() {
				return d, true
			}
		}
	}
	return Device{}, false
}

// CheckTLS refuses an inventory that does not name the files to speak to routers with.
func (inv *Inventory) CheckTLS() error {
	if inv.TLS.CA == "" || inv.TLS.Cert == "" || inv.TLS.Key == "" {
		return errors.New("the inventory's tls section must name ca, cert and key: routers are only spoken to over mutual TLS")
	}
	return nil
}

// Credentials reads the TLS files, again whenever they change; routers are never spoken to without TLS.
func (inv *Inventory) Credentials(d mtls.Dependencies) (*mtls.Credentials, error) {
	if err := inv.CheckTLS(); err != nil {
		return nil, err
	}
	d.Use = cmp.Or(d.Use, "inventory")
	c, err := mtls.New(mtls.Files{CA: inv.TLS.CA, Cert: inv.TLS.Cert, Key: inv.TLS.Key, CRL: inv.TLS.CRL}, d)
	if err != nil {
		return nil, fmt.Errorf("load the controller's client certificate and the routers' CA: %w", err)
	}
	return c, nil
}

// ClientTLS is Credentials for clients; later faults of the files are not reported.
func (inv *Inventory) ClientTLS() (*tls.Config, error) {
	c, err := inv.Credentials(mtls.Dependencies{})
	if err != nil {
		return nil, err
	}
	return c.Client(), nil
}
