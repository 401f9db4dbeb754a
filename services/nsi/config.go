package nsi

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/mtls"
)

// Configuration of the NSI provider.
type Configuration struct {
	// Listen is host:port of the SOAP endpoint and the discovery documents. Default none: there is no endpoint.
	Listen string `yaml:"listen"`
	// TLS has the certificate of Listen; its CA signed those of requesters. Its files are relative to the folder of the
	// configuration file. Without it Listen must be a loopback address.
	TLS TLS `yaml:"tls"`
	// URL is where requesters reach Listen, such as https://nsi.example.net. It is in the discovery documents.
	URL string `yaml:"url"`
	// NSA is the id of this provider, such as urn:ogf:network:example.net:2026:nsa.
	NSA string `yaml:"nsa"`
	// Topology is the id of this network, such as urn:ogf:network:example.net:2026:topology. Ids of STPs are this, a
	// colon and a name of STPs.
	Topology string `yaml:"topology"`
	// Name of the network, for people.
	Name string `yaml:"name"`
	// ServiceType of point-to-point services. Default http://services.ogf.org/nsi/2013/12/descriptions/EVTS.A-GOLE.
	ServiceType string `yaml:"service_type"`
	// STPs are where connections may begin and end, by names.
	STPs map[string]STP `yaml:"stps"`
	// Requesters may reserve, by the ids of their NSAs. Default none: no requester may.
	Requesters map[string]Requester `yaml:"requesters"`
	// Hold is how long a modification is held; a new reservation is held for circuits.hold. Default 5m.
	Hold time.Duration `yaml:"hold"`
	// GiveUp is how long a message to a requester is tried. Default 24h.
	GiveUp time.Duration `yaml:"give_up"`
	// Keep is how long connections that are over, and ids of requests, are kept. Default 720h, 30 days.
	Keep time.Duration `yaml:"keep"`
}

// TLS names PEM files, relative to the folder of the configuration file.
type TLS struct {
	// CA signed the certificates of requesters, and those of the servers that callbacks go to.
	CA string `yaml:"ca"`
	// Cert, with its intermediates, and Key are this provider's.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// CRL has lists of revoked certificates; empty: none is revoked.
	CRL string `yaml:"crl"`
}

func (t TLS) files() mtls.Files { return mtls.Files{CA: t.CA, Cert: t.Cert, Key: t.Key, CRL: t.CRL} }

// STP is an end of connections: a port with VLANs, or prefixes behind a router.
type STP struct {
	// Router is a name of the topology.
	Router string `yaml:"router"`
	// Port is an interface that joins the router to no other one.
	Port string `yaml:"port"`
	// VLANs of the port that connections may have, such as 1780-1790. Empty: frames without a tag.
	VLANs string `yaml:"vlans"`
	// Prefixes are steered instead of frames, where there is no port.
	Prefixes []string `yaml:"prefixes"`
}

// Requester is an NSA that may reserve.
type Requester struct {
	// Project of circuits.projects that its connections count against, and By who asks there.
	Project string `yaml:"project"`
	By      string `yaml:"by"`
	// Certificate is the common name, or a DNS name, of its certificate. It is needed where TLS is set.
	Certificate string `yaml:"certificate"`
	// ReplyTo are the beginnings of URLs that callbacks may go to. Default none: it polls.
	ReplyTo []string `yaml:"reply_to"`
}

const defaultServiceType = "http://services.ogf.org/nsi/2013/12/descriptions/EVTS.A-GOLE"

// DefaultConfiguration has no endpoint.
func DefaultConfiguration() Configuration {
	return Configuration{ServiceType: defaultServiceType, Hold: 5 * time.Minute, GiveUp: 24 * time.Hour, Keep: 30 * 24 * time.Hour}
}

// RelativeTo resolves the PEM files against the folder of the configuration file.
func (c *Configuration) RelativeTo(folder string) {
	for _, name := range []*string{&c.TLS.CA, &c.TLS.Cert, &c.TLS.Key, &c.TLS.CRL} {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(folder, *name)
		}
	}
}

var urn = regexp.MustCompile(`^urn:ogf:network:[A-Za-z0-9.-]+:[0-9]{4}[0-9]{0,4}:[A-Za-z0-9._:/-]+$`)

var stpName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate returns an error that names a valid value.
func (c Configuration) Validate() error {
	if c.Listen == "" {
		return nil
	}
	if err := c.checkListen(); err != nil {
		return err
	}
	for _, id := range []struct{ field, value string }{{"nsa", c.NSA}, {"topology", c.Topology}} {
		if !urn.MatchString(id.value) {
			return fmt.Errorf("nsi %s %q: write an id such as urn:ogf:network:example.net:2026:%s", id.field, id.value, id.field)
		}
	}
	if c.Hold < time.Second || c.GiveUp < time.Second || c.Keep < c.GiveUp {
		return fmt.Errorf("nsi hold and give_up: at least 1s; keep: at least give_up")
	}
	for _, name := range slices.Sorted(maps.Keys(c.STPs)) {
		if err := c.STPs[name].check(name); err != nil {
			return err
		}
	}
	for _, nsa := range slices.Sorted(maps.Keys(c.Requesters)) {
		if err := c.Requesters[nsa].check(nsa, c.TLS.Cert != ""); err != nil {
			return err
		}
	}
	return nil
}

func (c Configuration) checkListen() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("nsi listen %q is not host:port, such as 127.0.0.1:8450: %w", c.Listen, err)
	}
	at, err := netip.ParseAddr(host)
	if c.TLS.Cert == "" && host != "localhost" && (err != nil || !at.IsLoopback()) {
		return fmt.Errorf("nsi listen %s: without nsi tls, whose certificates say who asks, only a loopback address", c.Listen)
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("nsi url %q: say where requesters reach it, such as https://nsi.example.net", c.URL)
	}
	return nil
}

func (s STP) check(name string) error {
	switch {
	case !stpName.MatchString(name):
		return fmt.Errorf("nsi stps %q: 1 to 64 letters, digits, '.', '_' or '-'", name)
	case s.Router == "":
		return fmt.Errorf("nsi stps.%s: name its router", name)
	case (s.Port == "") == (len(s.Prefixes) == 0):
		return fmt.Errorf("nsi stps.%s: a port, or prefixes", name)
	case s.Port == "" && s.VLANs != "":
		return fmt.Errorf("nsi stps.%s: vlans are those of a port", name)
	}
	if _, err := parseVLANs(s.VLANs); err != nil {
		return fmt.Errorf("nsi stps.%s vlans: %w", name, err)
	}
	for _, p := range s.Prefixes {
		if prefix, err := netip.ParsePrefix(p); err != nil || prefix != prefix.Masked() {
			return fmt.Errorf("nsi stps.%s prefixes: %q is none such as 192.0.2.0/24", name, p)
		}
	}
	return nil
}

func (r Requester) check(nsa string, certified bool) error {
	switch {
	case r.Project == "" || r.By == "":
		return fmt.Errorf("nsi requesters.%s: name its project, and by whom its circuits are requested", nsa)
	case certified && r.Certificate == "":
		return fmt.Errorf("nsi requesters.%s: name its certificate", nsa)
	}
	for _, to := range r.ReplyTo {
		u, err := url.Parse(to)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.Path == "" {
			return fmt.Errorf("nsi requesters.%s reply_to %q: write a URL with a path, such as https://aggregator.example.org/nsi/", nsa, to)
		}
	}
	return nil
}

// mayCall reports whether callbacks may go to a URL.
func (r Requester) mayCall(to string) bool {
	u, err := url.Parse(to)
	if err != nil || u.User != nil || strings.Contains(u.Path, "..") {
		return false
	}
	return slices.ContainsFunc(r.ReplyTo, func(prefix string) bool { return strings.HasPrefix(u.String(), prefix) })
}
