package peagent

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/peagent/datapath"
)

// adopt takes over the prefixes that an earlier agent left in the datapath, so that packets go on being shaped until
// FRR is read, and those that are gone by then are withdrawn. It removes whatever does not belong to this
// configuration: ports that left it, and all prefixes of a VPN id that may have been another VPN's, whose packets they
// would lead to a flow, and a PE, of the former.
func (a *Agent) adopt(p *datapath.Ports) error {
	pinned, err := a.dp.Pinned()
	if err != nil {
		return fmt.Errorf("read the pinned maps of the last agent: %w", err)
	}
	if err := a.releasePorts(p, pinned.Ports); err != nil {
		return err
	}
	for id, prefixes := range pinned.Prefixes {
		vpn := slices.IndexFunc(a.cfg.VPNs, func(v VPN) bool { return v.ID == id })
		known := map[uint32]netip.Addr{}
		if vpn >= 0 && sameVPN(id, a.ports[vpn], pinned.Ports) {
			known = a.egresses(id)
		}
		for prefix, index := range prefixes {
			if pe, ok := known[index]; ok {
				a.reg.routes[vpn][prefix] = pe
			} else if err := a.dp.RemovePrefix(id, prefix); err != nil {
				return fmt.Errorf("remove a prefix of the last agent: %w", err)
			}
		}
	}
	return nil
}

// releasePorts removes ports that left the configuration, or have another VPN now, before any prefix changes: a port
// without VPN is not shaped, and one with a wrong VPN would be shaped as another's.
func (a *Agent) releasePorts(p *datapath.Ports, pinned map[int]uint32) error {
	now := map[int]uint32{}
	for i, ports := range a.ports {
		for _, index := range ports {
			now[index] = a.cfg.VPNs[i].ID
		}
	}
	var gone []int
	for index, id := range pinned {
		if now[index] == id {
			continue
		}
		if err := a.dp.RemovePort(index); err != nil {
			return fmt.Errorf("remove a port of the last agent: %w", err)
		}
		if now[index] == 0 {
			gone = append(gone, index)
		}
	}
	names := slices.DeleteFunc(p.Names(gone), func(name string) bool { return slices.Contains(a.cfg.Core, name) })
	if err := p.Detach(names); err != nil {
		return fmt.Errorf("detach from ports that left the configuration: %w", err)
	}
	return nil
}

// sameVPN reports whether a VPN id is that of the same customer as before. Names are not pinned, ports are: one of its
// ports had the id, and none had another.
func sameVPN(id uint32, ports []int, pinned map[int]uint32) bool {
	same := false
	for _, index := range ports {
		was, known := pinned[index]
		if known && was != id {
			return false
		}
		same = same || known
	}
	return same
}

// egresses are the far PEs of a VPN's flows, by flow index.
func (a *Agent) egresses(id uint32) map[uint32]netip.Addr {
	out := map[uint32]netip.Addr{}
	for k, index := range a.pinned {
		if k.Vpn == id {
			out[index] = datapath.Address(k.Pe)
		}
	}
	return out
}

// atFirst are a VPN's routes until FRR is read: those of the configuration, and those that were there.
func (a *Agent) atFirst(vpn int) map[netip.Prefix]netip.Addr {
	wanted := map[netip.Prefix]netip.Addr{}
	if a.cfg.VPNs[vpn].VRF != "" {
		maps.Copy(wanted, a.reg.routes[vpn])
	}
	maps.Copy(wanted, a.cfg.VPNs[vpn].configured())
	return wanted
}
