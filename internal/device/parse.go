package device

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// source is a file of the operator; its errors name file, line and column.
type source struct {
	path string
	raw  []byte
}

func parse(src source) (*Inventory, error) {
	inv := &Inventory{}
	err := yaml.UnmarshalWithOptions(src.raw, inv, yaml.Strict())
	var located yaml.Error
	switch {
	case err == nil, errors.Is(err, io.EOF): // an empty file is an empty inventory
	case errors.As(err, &located) && located.GetToken() != nil:
		return nil, fmt.Errorf("%s:%d: %s", src.path, located.GetToken().Position.Line, located.GetMessage())
	default:
		return nil, src.locate(err)
	}
	for i, d := range inv.Devices {
		inv.Devices[i].OS = d.OS.OrDefault()
		for j, e := range d.Exporters { // flows name IPv4 exporters without the IPv6 wrapping
			d.Exporters[j] = e.Unmap()
		}
	}
	return inv, inv.check(src)
}

// locate finds the address that did not parse: the YAML library reports the position of an error, except in
// values that parse themselves.
func (src source) locate(err error) error {
	var plain struct {
		Devices []struct {
			Loopback  string
			Exporters []string
		}
	}
	if yaml.Unmarshal(src.raw, &plain) != nil {
		return fmt.Errorf("%s: %w", src.path, err)
	}
	for i, d := range plain.Devices {
		values := map[string]string{fmt.Sprintf("$.devices[%d].loopback", i): d.Loopback}
		for j, e := range d.Exporters {
			values[fmt.Sprintf("$.devices[%d].exporters[%d]", i, j)] = e
		}
		for where, text := range values {
			if _, bad := netip.ParseAddr(text); bad != nil && text != "" {
				return src.at(where, "%q is not an IP address", text)
			}
		}
	}
	return fmt.Errorf("%s: %w", src.path, err)
}

// at makes an error that starts with the place of a YAML path such as $.devices[0].name.
func (src source) at(where, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	path, err := yaml.PathString(where)
	if err != nil {
		return fmt.Errorf("%s: %s", src.path, text)
	}
	file, err := parser.ParseBytes(src.raw, 0)
	if err != nil {
		return fmt.Errorf("%s: %s", src.path, text)
	}
	node, err := path.FilterFile(file)
	if err != nil {
		return fmt.Errorf("%s: %s", src.path, text)
	}
	return fmt.Errorf("%s:%d: %s", src.path, node.GetToken().Position.Line, text)
}

// check refuses what would make two routers one, or one that cannot be reached.
func (inv *Inventory) check(src source) error {
	names, loopbacks, exporters, agents := map[string]bool{}, map[netip.Addr]string{}, map[netip.Addr]string{}, map[string]string{}
	for i, d := range inv.Devices {
		here := fmt.Sprintf("$.devices[%d]", i)
		switch {
		case d.Name == "":
			return src.at(here, "device %d has no name", i+1)
		case names[d.Name]:
			return src.at(here+".name", "device %s is listed twice", d.Name)
		case d.Address == "":
			return src.at(here, "device %s has no address; give host:port of its gNMI server", d.Name)
		case !hostPort(d.Address):
			return src.at(here+".address", "address %q of device %s is not host:port, such as 192.0.2.1:9339", d.Address, d.Name)
		case d.PE != "" && !hostPort(d.PE):
			return src.at(here+".pe", "pe %q of device %s is not host:port of its PE agent, such as 192.0.2.1:4757", d.PE, d.Name)
		case d.PE != "" && agents[d.PE] != "":
			return src.at(here+".pe", "device %s has the PE agent %s of device %s", d.Name, d.PE, agents[d.PE])
		case !slices.Contains(OSes, d.OS):
			return src.at(here+".os", "os %q of device %s is none of %s", d.OS, d.Name, osNames())
		case (d.Username == "") != (d.PasswordFile == ""):
			return src.at(here, "device %s needs both username and password_file, or neither", d.Name)
		case d.Loopback.IsValid() && loopbacks[d.Loopback] != "":
			return src.at(here+".loopback", "device %s has the loopback %s of device %s", d.Name, d.Loopback, loopbacks[d.Loopback])
		}
		names[d.Name], loopbacks[d.Loopback], agents[d.PE] = true, d.Name, d.Name
		for j, e := range d.Exporters {
			if other, ok := exporters[e]; ok {
				return src.at(fmt.Sprintf("%s.exporters[%d]", here, j), "exporter %s of device %s is listed for device %s already", e, d.Name, other)
			}
			exporters[e] = d.Name
		}
	}
	return nil
}

func osNames() string {
	out := make([]string, len(OSes))
	for i, os := range OSes {
		out[i] = string(os)
	}
	return strings.Join(out, ", ")
}

func hostPort(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
