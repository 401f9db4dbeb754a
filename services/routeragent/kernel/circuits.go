package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// Overlay is the one VXLAN device of a router: where a frame goes, and from which address, is with the frame.
const Overlay = "te-circuits"

const (
	// vxlanPort is IANA's.
	vxlanPort = 4789
	// overlayMTU is more than any frame: the device is no narrower than the path below it.
	overlayMTU = 65000
	// MaxVNI is the last VXLAN network identifier.
	MaxVNI = 1<<24 - 1
)

// Values of port.circuits in bpf/maps.h.
const (
	portAttached = 1
	portOverlay  = 2
)

// Circuit carries the frames of a VLAN of a port to another router, and back.
type Circuit struct {
	Name string
	// Port and VLAN, 0 for frames without a tag, are where frames enter and leave.
	Port string
	VLAN int
	// VNI is the circuit's between routers.
	VNI uint32
	// Local and Remote are the ends of the tunnel. Local is no other circuit's.
	Local, Remote netip.Addr
	// Mark is the class and the path of frames that enter, and the class of those that leave.
	Mark uint32
	// Entered and Left are indexes of counters, below MaxRuleCounters.
	Entered, Left int
}

func (c Circuit) attachment(index int) bpf.ClassifierAttachment {
	return bpf.ClassifierAttachment{Ifindex: uint32(index), Vlan: uint32(c.VLAN)}
}

// attached tells what an interface has to do with circuits.
func (s Spec) attached(name string) uint32 {
	switch {
	case len(s.Circuits) == 0:
	case name == Overlay:
		return portOverlay
	case slices.ContainsFunc(s.Circuits, func(c Circuit) bool { return c.Port == name }):
		return portAttached
	}
	return 0
}

// tunnelEnd is an address as bpf_tunnel_key has it: in the byte order of the host.
func tunnelEnd(a netip.Addr) uint32 { return binary.BigEndian.Uint32(a.AsSlice()) }

// overlay is the device; nil where there is none.
func (k *Kernel) overlay() (*netlink.Vxlan, error) {
	l, err := k.conn.LinkByName(Overlay)
	if noLink(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", Overlay, err)
	}
	v, ok := l.(*netlink.Vxlan)
	if !ok || !v.FlowBased {
		return nil, fmt.Errorf("%w: interface %s", ErrConflict, Overlay)
	}
	return v, nil
}

// ends are the addresses that the device has to have.
func ends(s Spec) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, c := range s.Circuits {
		out[c.Local] = true
	}
	return out
}

func (k *Kernel) addresses(v *netlink.Vxlan) (map[netip.Addr]bool, error) {
	list, err := k.conn.AddrList(v, unix.AF_INET)
	if err != nil {
		return nil, fmt.Errorf("list addresses of %s: %w", Overlay, err)
	}
	out := map[netip.Addr]bool{}
	for _, a := range list {
		if ip, ok := netip.AddrFromSlice(a.IP.To4()); ok {
			out[ip] = true
		}
	}
	return out, nil
}

func host(a netip.Addr) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}}
}

// ensureOverlay makes the device and its addresses.
func (k *Kernel) ensureOverlay(s Spec) error {
	if len(s.Circuits) == 0 {
		return nil
	}
	v, err := k.overlay()
	if err != nil {
		return err
	}
	if v == nil {
		if err := k.step("add "+Overlay, k.addOverlay); err != nil {
			return err
		}
		if v, err = k.overlay(); err != nil || v == nil {
			return errors.Join(err, fmt.Errorf("interface %s is not there after it was added", Overlay))
		}
	}
	if v.Attrs().RawFlags&unix.IFF_UP == 0 {
		if err := k.step("set "+Overlay+" up", func() error { return k.conn.LinkSetUp(v) }); err != nil {
			return err
		}
	}
	have, err := k.addresses(v)
	if err != nil {
		return err
	}
	for a := range ends(s) {
		if have[a] {
			continue
		}
		if err := k.step("add address "+a.String(), func() error { return k.conn.AddrAdd(v, host(a)) }); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) addOverlay() error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = Overlay, overlayMTU
	return k.conn.LinkAdd(&netlink.Vxlan{LinkAttrs: attrs, FlowBased: true, Port: vxlanPort})
}

// pruneOverlay removes addresses of circuits that are gone, and with the last one the device.
func (k *Kernel) pruneOverlay(s Spec) error {
	v, err := k.overlay()
	if v == nil || err != nil {
		if errors.Is(err, ErrConflict) && len(s.Circuits) == 0 {
			return nil // somebody else's
		}
		return err
	}
	if len(s.Circuits) == 0 {
		return k.step("remove "+Overlay, func() error { return k.conn.LinkDel(v) })
	}
	have, err := k.addresses(v)
	if err != nil {
		return err
	}
	want := ends(s)
	for a := range have {
		if want[a] {
			continue
		}
		if err := k.step("remove address "+a.String(), func() error { return k.conn.AddrDel(v, host(a)) }); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kernel) verifyOverlay(s Spec) error {
	v, err := k.overlay()
	if len(s.Circuits) == 0 {
		if v != nil && err == nil {
			return fmt.Errorf("interface %s should not be there", Overlay)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if v == nil || v.Attrs().RawFlags&unix.IFF_UP == 0 {
		return fmt.Errorf("interface %s is not there, or down", Overlay)
	}
	have, err := k.addresses(v)
	if err != nil {
		return err
	}
	if !maps.Equal(have, ends(s)) {
		return fmt.Errorf("addresses of %s differ from the intended ones", Overlay)
	}
	return nil
}

// circuitEntries are what the programs' maps have to hold.
func (c *classifier) circuitEntries(s Spec) (map[bpf.ClassifierAttachment]bpf.ClassifierCircuit, map[uint32]bpf.ClassifierExit, error) {
	enter, leave := map[bpf.ClassifierAttachment]bpf.ClassifierCircuit{}, map[uint32]bpf.ClassifierExit{}
	if len(s.Circuits) == 0 {
		return enter, leave, nil
	}
	device, err := c.kernel.link(Overlay)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range s.Circuits {
		l, err := c.kernel.link(k.Port)
		if err != nil {
			return nil, nil, err
		}
		at := k.attachment(l.Attrs().Index)
		enter[at] = bpf.ClassifierCircuit{
			Vni: k.VNI, Local: tunnelEnd(k.Local), Remote: tunnelEnd(k.Remote), Mark: k.Mark, Device: uint32(device.Attrs().Index), Hit: uint32(k.Entered),
		}
		leave[k.VNI] = bpf.ClassifierExit{At: at, Remote: tunnelEnd(k.Remote), Mark: k.Mark &^ pathMask, Hit: uint32(k.Left)}
	}
	return enter, leave, nil
}

// ensureCircuits writes what is new or differs.
func (c *classifier) ensureCircuits(s Spec) error {
	enter, leave, err := c.circuitEntries(s)
	if err != nil {
		return err
	}
	if err := putAll(c.kernel, "circuit", c.obj.Exits, leave); err != nil {
		return err
	}
	return putAll(c.kernel, "attachment", c.obj.Circuits, enter)
}

func putAll[K, V comparable](k *Kernel, what string, m *ebpf.Map, want map[K]V) error {
	for key, value := range want {
		var have V
		if err := m.Lookup(key, &have); err == nil && have == value {
			continue
		}
		if err := k.step(fmt.Sprintf("put %s %v", what, key), func() error { return bpfmap.Put(m, key, value) }); err != nil {
			return err
		}
	}
	return nil
}

// circuitsInMaps are the entries of circuits, by where frames enter and by the VNI that they leave with.
func (c *classifier) circuitsInMaps() (enters map[bpf.ClassifierAttachment]bpf.ClassifierCircuit, leaves map[uint32]bpf.ClassifierExit, err error) {
	if enters, err = bpfmap.All[bpf.ClassifierAttachment, bpf.ClassifierCircuit](c.obj.Circuits); err != nil {
		return nil, nil, err
	}
	leaves, err = bpfmap.All[uint32, bpf.ClassifierExit](c.obj.Exits)
	return enters, leaves, err
}

// compare lists the entries of a map that nobody wants; differs: one that is wanted is missing or different.
func compare[K, V comparable](m *ebpf.Map, want map[K]V) (extra map[K]V, differs bool, err error) {
	if extra, err = bpfmap.All[K, V](m); err != nil {
		return nil, false, err
	}
	for key, w := range want {
		has, there := extra[key]
		differs = differs || !there || has != w
		delete(extra, key)
	}
	return extra, differs, nil
}

// pruneCircuits removes the entries of circuits that are gone.
func (c *classifier) pruneCircuits(s Spec) error {
	enter, leave, err := c.circuitEntries(s)
	if err != nil {
		return err
	}
	return errors.Join(
		removeExtra(c.kernel, "attachment", c.obj.Circuits, enter),
		removeExtra(c.kernel, "circuit", c.obj.Exits, leave))
}

// removeExtra removes what is not wanted.
func removeExtra[K, V comparable](k *Kernel, what string, m *ebpf.Map, want map[K]V) error {
	extra, _, err := compare(m, want)
	if err != nil {
		return fmt.Errorf("list %ss: %w", what, err)
	}
	for key := range extra {
		err := k.step(fmt.Sprintf("remove %s %v", what, key), func() error { return m.Delete(key) })
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return nil
}

func (c *classifier) verifyCircuits(s Spec) error {
	enter, leave, err := c.circuitEntries(s)
	if err != nil {
		return err
	}
	if extra, differs, err := compare(c.obj.Circuits, enter); err != nil || differs || len(extra) > 0 {
		return fmt.Errorf("attachments of circuits in the classifier differ from the intended ones (%v)", err)
	}
	if extra, differs, err := compare(c.obj.Exits, leave); err != nil || differs || len(extra) > 0 {
		return fmt.Errorf("circuits in the classifier differ from the intended ones (%v)", err)
	}
	return nil
}

// CircuitsInForce are the circuits whose frames the classifier carries both ways, by the counter of what enters.
func (k *Kernel) CircuitsInForce() (map[int]bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[int]bool{}
	if k.bpf.obj == nil {
		return out, nil
	}
	enters, leaves, err := k.bpf.circuitsInMaps()
	if err != nil {
		return nil, err
	}
	for at, circuit := range enters {
		exit, leaves := leaves[circuit.Vni]
		out[int(circuit.Hit)] = leaves && exit.At == at
	}
	return out, nil
}
