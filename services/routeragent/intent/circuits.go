package intent

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// The type of a network instance that is an Ethernet circuit.
const typeL2P2P = "L2P2P"

// CircuitAt is where a circuit's local endpoint is in the tree, and where it counts.
type CircuitAt struct {
	Name, Point, Endpoint string
	Entered, Left         int
}

// readCircuits reads the network instances of type L2P2P: one connection point with a port of this router, one with the
// other end.
func (c *compiler) readCircuits() error {
	taken := map[any]string{}
	for _, ni := range c.root.at("network-instances", "network-instance").entries() {
		if ni.text("name") == "DEFAULT" {
			continue
		}
		k, at, err := c.readCircuit(ni)
		if err != nil {
			return err
		}
		for _, once := range []struct {
			key  any
			what string
		}{{[2]any{k.Port, k.VLAN}, "its port and VLAN"}, {k.VNI, "its virtual-circuit-identifier"}, {k.Local, "its local-system"}} {
			if other, is := taken[once.key]; is {
				return invalid(ni.path, "%s are those of network instance %s", once.what, other)
			}
			taken[once.key] = k.Name
		}
		if _, there := c.hardware(k.Port); !there {
			continue
		}
		c.circuits = append(c.circuits, k)
		c.circuitAts = append(c.circuitAts, at)
	}
	slices.SortFunc(c.circuits, func(a, b kernel.Circuit) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (c *compiler) readCircuit(ni view) (k kernel.Circuit, at CircuitAt, err error) {
	k.Name = ni.text("name")
	if !ownName(k.Name) {
		return k, at, unsupported(ni.path, "only DEFAULT, and L2P2P instances named te-… (letters, digits, '-', '.', '_'), are implemented")
	}
	if t := ni.text("config", "type"); t != typeL2P2P {
		return k, at, unsupported(ni.path+"/config/type", "is %q; only L2P2P is implemented beside DEFAULT", t)
	}
	for _, name := range []string{"policy-forwarding", "mpls"} {
		if ni.at(name).exists() {
			return k, at, unsupported(ni.path+"/"+name, "is of the network instance DEFAULT")
		}
	}
	var local, remote []view
	for _, point := range ni.at("connection-points", "connection-point").entries() {
		ends := point.at("endpoints", "endpoint").entries()
		if len(ends) != 1 {
			return k, at, unsupported(point.path, "has %d endpoints; exactly one is implemented", len(ends))
		}
		switch end := ends[0]; end.text("config", "type") {
		case "LOCAL":
			local = append(local, end)
			at.Point, at.Endpoint = point.text("connection-point-id"), end.text("endpoint-id")
		case "REMOTE":
			remote = append(remote, end)
		default:
			return k, at, invalid(end.path+"/config/type", "is neither LOCAL nor REMOTE")
		}
	}
	if len(local) != 1 || len(remote) != 1 {
		return k, at, unsupported(ni.path+"/connection-points", "has %d local and %d remote ends; exactly one of each is implemented", len(local), len(remote))
	}
	if err = c.readLocal(local[0], &k); err == nil {
		err = c.readRemote(remote[0], &k)
	}
	if err != nil {
		return k, at, err
	}
	entered, ok := c.ids.counter(k.Name + " in")
	left, ok2 := c.ids.counter(k.Name + " out")
	if !ok || !ok2 {
		return k, at, tooMany(ni.path, kernel.MaxRuleCounters, "rules, and circuits twice")
	}
	k.Entered, k.Left = entered, left
	at.Name, at.Entered, at.Left = k.Name, entered, left
	return k, at, nil
}

// readLocal reads port and VLAN; a circuit whose port is gone is left out. Without a VLAN the circuit takes all frames
// without a tag, so the router would be cut off from a port that it needs.
func (c *compiler) readLocal(end view, k *kernel.Circuit) error {
	if end.at("remote").exists() {
		return invalid(end.path+"/remote", "exists only when type is REMOTE")
	}
	k.Port = end.text("local", "config", "interface")
	path := end.path + "/local/config/interface"
	port, ok := c.hardware(k.Port)
	vlan, _ := end.number("local", "config", "vlan-id")
	k.VLAN = int(vlan)
	switch {
	case k.Port == kernel.Overlay:
		return invalid(path, "%s is not a port", k.Port)
	case !ok:
		c.leftOut[path] = absent(path, k.Port)
		return nil
	case port.Loopback:
		return invalid(path, "%s is a loopback", k.Port)
	}
	if vlan > 0 || port.RouterUses == nil {
		return nil
	}
	use, err := port.RouterUses()
	if err != nil {
		return invalid(path, "nobody can tell whether the router itself needs %s: %v", k.Port, err)
	}
	if use != "" {
		return invalid(path, "%s is %s; a circuit there needs a vlan-id", k.Port, use)
	}
	return nil
}

// readRemote reads the other end, and how frames get there.
func (c *compiler) readRemote(end view, k *kernel.Circuit) (err error) {
	if end.at("local").exists() {
		return invalid(end.path+"/local", "exists only when type is LOCAL")
	}
	r := end.at("remote", "config")
	for _, a := range []struct {
		leaf string
		into *netip.Addr
	}{{"remote-system", &k.Remote}, {"local-system", &k.Local}} {
		if *a.into, err = netip.ParseAddr(r.text(a.leaf)); err != nil || !a.into.Is4() {
			return unsupported(r.path+"/"+a.leaf, "is %q; an IPv4 address is needed", r.text(a.leaf))
		}
	}
	if k.Local == k.Remote {
		return invalid(r.path+"/remote-system", "is the local-system")
	}
	vni, _ := r.number("virtual-circuit-identifier")
	if vni < 1 || vni > kernel.MaxVNI {
		return unsupported(r.path+"/virtual-circuit-identifier", "is %d; 1 to %d", vni, kernel.MaxVNI)
	}
	k.VNI = uint32(vni)
	class, path := 0, 0
	if group := r.text("qos-forwarding-group"); group != "" {
		if class, err = c.classOf(r.path+"/qos-forwarding-group", group); err != nil {
			return err
		}
	}
	if group := r.text("path-selection-group"); group != "" {
		if path, err = c.pathOf(r.path, group); err != nil {
			return err
		}
		if c.sets[path] != nil {
			return unsupported(r.path+"/path-selection-group", "is %q, which has several LSPs; the frames of a circuit keep to one", group)
		}
	}
	k.Mark = kernel.Mark(class, path)
	return nil
}
