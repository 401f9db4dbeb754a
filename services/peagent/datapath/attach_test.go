package datapath

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/scratchns"
)

// customers makes ports in the thread's namespace and returns their names.
func customers(n int) (names []string, err error) {
	var commands strings.Builder
	for i := range n {
		names = append(names, fmt.Sprint("c", i))
		fmt.Fprintf(&commands, "link add name c%d type veth peer name x%d\nlink set dev c%d up\n", i, i, i)
	}
	ip := exec.Command("ip", "-batch", "-")
	ip.Stdin = strings.NewReader(commands.String())
	if out, err := ip.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return names, nil
}

func tc(args ...string) (string, error) {
	out, err := exec.Command("tc", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tc %v: %w: %s", args, err, out)
	}
	return string(out), nil
}

// attaching runs, in a network namespace with so many ports of customers, what attaches to ports.
func attaching(t *testing.T, n int, do func(d *Datapath, p *Ports, names []string) error) {
	t.Helper()
	_, err := scratchns.Run(func(netns.NsHandle) (none struct{}, err error) {
		names, err := customers(n)
		if err != nil {
			return none, err
		}
		d, err := Open(Options{Flows: 4, Prefixes: 4, MarkMask: 0xffff})
		if err != nil {
			return none, err
		}
		defer d.Close()
		p, err := OpenPorts()
		if err != nil {
			return none, err
		}
		defer p.Close()
		return none, do(d, p, names)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// spent is what attaching to ports, doing it again, and taking it off costs.
type spent struct{ first, again, off, calls int }

func attachTo(t *testing.T, n int) (s spent) {
	t.Helper()
	attaching(t, n, func(d *Datapath, p *Ports, names []string) error {
		if err := d.Attach(p, names[:1], names[1:]); err != nil {
			return err
		}
		s.first = p.Messages
		if err := d.Attach(p, names[:1], names[1:]); err != nil {
			return err
		}
		s.again, s.calls = p.Messages-s.first, p.Calls
		for _, side := range []string{"ingress", "egress"} {
			out, err := tc("filter", "show", "dev", names[n-1], side)
			if strings.Count(out, filterName) != 1 {
				return fmt.Errorf("attached twice, the last port's %s has: %s %w", side, out, err)
			}
		}
		if err := p.Detach(names); err != nil {
			return err
		}
		s.off = p.Messages - s.first - s.again
		out, err := tc("qdisc", "show")
		if strings.Contains(out, "clsact") {
			return fmt.Errorf("left behind: %s", out)
		}
		return err
	})
	return s
}

// TestAttachingCostsTheSamePerPort: no message per port may request from the kernel
// something about all ports, and few system calls carry them.
func TestAttachingCostsTheSamePerPort(t *testing.T) {
	few, many := attachTo(t, 40), attachTo(t, 400)
	for _, c := range []struct {
		name      string
		few, many int
	}{
		{"messages to attach", few.first, many.first}, {"messages to replace", few.again, many.again}, {"messages to take off", few.off, many.off},
	} {
		if c.many != 10*c.few || c.many > 3*400 {
			t.Errorf("%s: %d for 40 ports, %d for 400; want at most three per port", c.name, c.few, c.many)
		}
	}
	if most := (many.first+many.again)/batchSize + 4; many.calls > most {
		t.Errorf("%d system calls attach to 400 ports twice; want at most %d", many.calls, most)
	}
}

// TestPortsThatLackSomethingAreFound among many, whose answers fill several batches.
func TestPortsThatLackSomethingAreFound(t *testing.T) {
	attaching(t, 400, func(d *Datapath, p *Ports, names []string) error {
		if _, err := OpenScheduler(names[0], HTB, 4, 128); err != nil {
			return err
		}
		if err := d.Attach(p, names[:1], names[1:]); err != nil {
			return err
		}
		all, err := p.indices(names)
		if err != nil {
			return err
		}
		began := time.Now()
		if got := p.Lacking(all[:1], all[1:], HTB); len(got) != 0 {
			return fmt.Errorf("%d interfaces lack something of what was attached", len(got))
		}
		t.Log("400 ports looked at in", time.Since(began))
		for _, command := range []string{
			"qdisc del dev c0 root", "filter del dev c70 ingress prio 2", "filter del dev c71 egress prio 2", "qdisc del dev c398 clsact",
		} {
			if _, err := tc(strings.Fields(command)...); err != nil {
				return err
			}
		}
		if err := exec.Command("ip", "link", "del", "c399").Run(); err != nil {
			return err
		}
		got := slices.Sorted(maps.Keys(p.Lacking(all[:1], all[1:], HTB)))
		if want := []int{all[0], all[70], all[71], all[398], all[399]}; !slices.Equal(got, want) {
			return fmt.Errorf("interfaces %v lack something, want %v", got, want)
		}
		return nil
	})
}

func TestWhatOthersPutOnAPortStays(t *testing.T) {
	attaching(t, 0, func(d *Datapath, p *Ports, _ []string) error {
		if _, err := tc("qdisc", "add", "dev", scratchns.Port, "clsact"); err != nil {
			return err
		}
		if _, err := tc("filter", "add", "dev", scratchns.Port, "ingress", "prio", "7", "protocol", "ip", "u32", "match", "u32", "0", "0"); err != nil {
			return err
		}
		before, err := tc("filter", "show", "dev", scratchns.Port, "ingress")
		if err != nil {
			return err
		}
		if err := d.Attach(p, nil, []string{scratchns.Port}); err != nil {
			return err
		}
		if err := p.Detach([]string{scratchns.Port, "was-never-there"}); err != nil {
			return err
		}
		after, err := tc("filter", "show", "dev", scratchns.Port, "ingress")
		if after != before {
			return fmt.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
		return err
	})
}

func TestAttachNamesThePort(t *testing.T) {
	attaching(t, 0, func(d *Datapath, p *Ports, _ []string) error {
		if err := d.Attach(p, []string{"no-such-port"}, nil); err == nil || !strings.Contains(err.Error(), "no-such-port") {
			return fmt.Errorf("attached to a port that is not there: %v", err)
		}
		if _, err := tc("qdisc", "add", "dev", scratchns.Port, "ingress"); err != nil {
			return err
		}
		if err := d.Attach(p, []string{scratchns.Port}, nil); err == nil || !strings.Contains(err.Error(), scratchns.Port) {
			return fmt.Errorf("attached egress to a port with somebody's ingress qdisc: %v", err)
		}
		return nil
	})
}
