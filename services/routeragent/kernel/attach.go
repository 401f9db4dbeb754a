package kernel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/bpfmap"
	"github.com/millrace/millrace/services/routeragent/bpf"
)

// directions are the tc hooks of the programs.
var directions = map[string]uint32{"ingress": netlink.HANDLE_MIN_INGRESS, "egress": netlink.HANDLE_MIN_EGRESS}

// filterName names the build of the programs. Filters of another build
// are ours too, but their maps may differ, so they are replaced.
func filterName() string { return filterPrefix + bpf.Version() }

func ours(name string) bool { return strings.HasPrefix(name, filterPrefix) }

func (c *classifier) filter(l netlink.Link, parent uint32) (*netlink.BpfFilter, error) {
	list, err := c.kernel.conn.FilterList(l, parent)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if b, ok := f.(*netlink.BpfFilter); ok && ours(b.Name) {
			return b, nil
		}
	}
	return nil, nil
}

// attach attaches both programs to an interface, and adds clsact where there is none.
func (c *classifier) attach(name string) error {
	l, err := c.kernel.link(name)
	if err != nil {
		return err
	}
	if err := c.ensureClsact(name, l); err != nil {
		return err
	}
	for _, dir := range []string{"egress", "ingress"} {
		prog := map[string]*ebpf.Program{"ingress": c.obj.Ingress, "egress": c.obj.Egress}[dir]
		if f, err := c.filter(l, directions[dir]); err != nil {
			return fmt.Errorf("list filters of %s: %w", name, err)
		} else if f != nil && isProgram(prog, f.Id) {
			continue
		}
		err := c.kernel.step("attach "+dir+" classifier to "+name, func() error {
			return c.kernel.conn.FilterReplace(&netlink.BpfFilter{
				FilterAttrs:  netlink.FilterAttrs{LinkIndex: l.Attrs().Index, Parent: directions[dir], Handle: 1, Protocol: unix.ETH_P_ALL, Priority: filterPriority},
				Fd:           prog.FD(),
				Name:         filterName(),
				DirectAction: true,
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func isProgram(p *ebpf.Program, id int) bool {
	info, err := p.Info()
	if err != nil {
		return false
	}
	have, ok := info.ID()
	return ok && int(have) == id
}

func (c *classifier) ensureClsact(name string, l netlink.Link) error {
	qdiscs, err := c.kernel.conn.qdiscs(l.Attrs().Index)
	if err != nil {
		return err
	}
	for _, q := range qdiscs {
		switch q.Kind {
		case "clsact":
			return nil
		case "ingress":
			return fmt.Errorf("interface %s: %w: ingress qdisc; the classifier needs clsact", name, ErrConflict)
		}
	}
	return c.kernel.step("add clsact to "+name, func() error {
		c.kernel.owned.Clsact[name] = true
		if err := c.kernel.owned.save(); err != nil {
			return err
		}
		return c.kernel.conn.batch(newQdisc(l.Attrs().Index, clsactHdl, clsactID, "clsact", nil))
	})
}

// forgetGone removes the entries of interfaces that are gone. Their programs went with them, and an interface that is
// made again has another index: the map would be full one day. It is emptied before it is written, so that one that is
// full already has room.
func (c *classifier) forgetGone() error {
	have, err := bpfmap.All[uint32, bpf.ClassifierPort](c.obj.Ports)
	if err != nil {
		return fmt.Errorf("list interfaces of the classifier: %w", err)
	}
	for index := range have {
		_, err := c.kernel.conn.LinkByIndex(int(index))
		switch {
		case err == nil:
			continue
		case !noLink(err):
			return fmt.Errorf("interface %d: %w", index, err)
		}
		err = c.kernel.step(fmt.Sprintf("forget interface %d", index), func() error { c.forget(index); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *classifier) detach(name string) error {
	l, err := c.kernel.link(name)
	if noLink(err) {
		delete(c.kernel.owned.Clsact, name)
		c.kernel.saveRemoval()
		return nil
	}
	if err != nil {
		return err
	}
	others := 0
	for _, parent := range directions {
		list, err := c.kernel.conn.FilterList(l, parent)
		if err != nil {
			return err
		}
		for _, f := range list {
			if b, ok := f.(*netlink.BpfFilter); !ok || !ours(b.Name) {
				others++
			} else if err := c.kernel.conn.FilterDel(f); err != nil {
				return err
			}
		}
	}
	if c.obj != nil {
		c.forget(uint32(l.Attrs().Index))
	}
	if c.kernel.owned.Clsact[name] && others == 0 {
		if err := c.kernel.conn.batch(delQdisc(l.Attrs().Index, clsactHdl, clsactID)); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	delete(c.kernel.owned.Clsact, name)
	c.kernel.saveRemoval()
	return nil
}
