package nsi

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/services/nsi/soap"
)

const declaration = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// discovery serves the NSA description document.
func (c *Component) discovery(w http.ResponseWriter, _ *http.Request) {
	describe(w, "application/vnd.ogf.nsi.nsa.v1+xml", c.description())
}

// topology serves this network in the Network Markup Language.
func (c *Component) topology(w http.ResponseWriter, _ *http.Request) {
	describe(w, "application/vnd.ogf.nsi.topology.v2+xml", c.network())
}

func describe(w http.ResponseWriter, kind string, e soap.Element) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(append([]byte(declaration), e.Bytes()...)) // the client may have disconnected
}

func (c *Component) description() soap.Element {
	base := strings.TrimSuffix(c.cfg.URL, "/")
	offer := func(kind, path string) soap.Element {
		return soap.E("interface", soap.T("type", kind), soap.T("href", base+path))
	}
	return soap.E("nsa:nsa",
		soap.Optional("name", c.cfg.Name),
		soap.T("softwareVersion", "Millrace"),
		soap.T("networkId", c.cfg.Topology),
		offer("application/vnd.ogf.nsi.cs.v2.provider+soap", soapPath),
		offer("application/vnd.ogf.nsi.topology.v2+xml", topologyPath),
		soap.E("feature").With("type", "vnd.ogf.nsi.cs.v2.role.uPA"),
	).With("xmlns:nsa", "http://schemas.ogf.org/nsi/2014/02/discovery/nsa").With("id", c.cfg.NSA).With("version", c.version())
}

// version is when this process read its configuration: documents are made of nothing else.
func (c *Component) version() string { return c.since.UTC().Format(time.RFC3339) }

const (
	hasIn  = "http://schemas.ogf.org/nml/2013/05/base#hasInboundPort"
	hasOut = "http://schemas.ogf.org/nml/2013/05/base#hasOutboundPort"
	vlans  = "http://schemas.ogf.org/nml/2012/10/ethernet#vlan"
)

// network has for each STP a port in, a port out, and the pair of both.
func (c *Component) network() soap.Element {
	in, out := soap.E("nml:Relation").With("type", hasIn), soap.E("nml:Relation").With("type", hasOut)
	pairs := []soap.Element{}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.STPs)) {
		id := c.cfg.Topology + ":" + name
		group := func(direction string) soap.Element {
			e := soap.E("nml:PortGroup").With("id", id+":"+direction)
			if labels := c.cfg.STPs[name].VLANs; labels != "" {
				e.Children = append(e.Children, soap.T("nml:LabelGroup", labels).With("labeltype", vlans))
			}
			return e
		}
		in.Children, out.Children = append(in.Children, group("in")), append(out.Children, group("out"))
		ref := func(direction string) soap.Element { return soap.E("nml:PortGroup").With("id", id+":"+direction) }
		pairs = append(pairs, soap.E("nml:BidirectionalPort", soap.T("nml:name", name), ref("in"), ref("out")).With("id", id))
	}
	children := append([]soap.Element{soap.Optional("nml:name", c.cfg.Name)}, pairs...)
	children = append(children, soap.E("sd:serviceDefinition", soap.T("name", "EVTS.A-GOLE"), soap.T("serviceType", c.cfg.ServiceType)).
		With("id", c.cfg.Topology+":service"), in, out)
	return soap.E("nml:Topology", children...).With("xmlns:nml", "http://schemas.ogf.org/nml/2013/05/base#").
		With("xmlns:sd", "http://schemas.ogf.org/nsi/2013/12/services/definition").With("id", c.cfg.Topology).With("version", c.version())
}
