package peagent

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/datapath"
)

const (
	// lookInterval is how often the agent looks whether its ports are the interfaces to which it attached.
	lookInterval = time.Second
	// portsPerLook bounds the ports of one look that are asked for their programs. Of more, each has its turn.
	portsPerLook = 128
	// towardsCore is the VPN of a core port.
	towardsCore = -1
)

// watchedPort is a port of the configuration.
type watchedPort struct {
	name string
	vpn  int // index into Configuration.VPNs, or towardsCore
	// index is the interface that the port was last; 0: none.
	index int
	// amiss is why it has no programs; nil: it has them. reason is why they have to be attached again.
	amiss, reason error
	// told is what the log says of that.
	told string
}

// portWatch keeps programs and schedulers on the ports. An interface that is made again under its name, such as a
// VLAN's or a virtual machine's, has none.
type portWatch struct {
	agent *Agent
	ports []*watchedPort // core ports first
	turn  int            // of the next port that is asked for its programs
}

// watchPorts begins with ports to which the agent has attached.
func (a *Agent) watchPorts(p *datapath.Ports) (*portWatch, error) {
	w := &portWatch{agent: a}
	for _, name := range a.cfg.Core {
		w.ports = append(w.ports, &watchedPort{name: name, vpn: towardsCore})
	}
	for i, v := range a.cfg.VPNs {
		for _, name := range v.Ports {
			w.ports = append(w.ports, &watchedPort{name: name, vpn: i})
		}
	}
	for _, port := range w.ports {
		var err error
		if port.index, err = p.Index(port.name); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// follow looks after the ports of a network namespace until ctx ends. It is apart from the control loop, which must not
// wait: the kernel may take seconds to attach, and rates are valid for FailOpen only.
func (w *portWatch) follow(ctx context.Context, ns netns.NsHandle) {
	defer ns.Close()
	// The thread is not given back: it ends with the goroutine.
	runtime.LockOSThread()
	if err := netns.Set(ns); err != nil {
		w.agent.metrics.errors.Inc()
		w.agent.log.Error("ports are not watched: one that is made again gets no programs", "error", err)
		return
	}
	every := time.NewTicker(lookInterval)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if err := w.look(); err != nil {
			w.agent.metrics.errors.Inc()
			w.agent.log.Debug("ports not looked at", "error", err)
		}
	}
}

// look finds ports without programs and attaches to them.
func (w *portWatch) look() error {
	p, err := datapath.OpenPorts()
	if err != nil {
		return err
	}
	defer p.Close()
	err = w.leave(p)
	w.findRemoved(p)
	w.publish()
	w.attach(p)
	w.publish()
	return err
}

// leave gives up interfaces that are no longer the ports they were. All are given up before any is taken: ports may
// have changed their names with each other.
func (w *portWatch) leave(p *datapath.Ports) error {
	var errs []error
	var left []int
	for _, port := range w.ports {
		index, err := p.Index(port.name)
		switch {
		case errors.Is(err, unix.ENODEV):
			port.amiss = err
		case err != nil: // which says nothing about the port
			errs = append(errs, err)
			continue
		case index == port.index:
			continue
		default:
			port.amiss = fmt.Errorf("port %s is another interface now", port.name)
		}
		if port.index == 0 {
			continue
		}
		errs = append(errs, w.agent.leavePort(port))
		left = append(left, port.index)
		port.index = 0
	}
	if len(left) > 0 {
		errs = append(errs, w.release(p, left))
	}
	return errors.Join(errs...)
}

// release takes programs and schedulers off interfaces that have names now which are not in the configuration.
func (w *portWatch) release(p *datapath.Ports, left []int) error {
	names := slices.DeleteFunc(p.Names(left), func(name string) bool {
		return slices.ContainsFunc(w.ports, func(port *watchedPort) bool { return port.name == name })
	})
	errs := []error{p.Detach(names)}
	for _, name := range names {
		errs = append(errs, datapath.CloseScheduler(name))
	}
	return errors.Join(errs...)
}

// findRemoved asks some ports whether they have what was attached.
func (w *portWatch) findRemoved(p *datapath.Ports) {
	var core, customers []int
	asked := map[int]*watchedPort{}
	for range min(portsPerLook, len(w.ports)) {
		port := w.ports[w.turn%len(w.ports)]
		w.turn++
		switch {
		case port.amiss != nil:
			continue
		case port.vpn == towardsCore:
			core = append(core, port.index)
		default:
			customers = append(customers, port.index)
		}
		asked[port.index] = port
	}
	for index := range p.Lacking(core, customers, w.agent.mode) {
		asked[index].amiss = fmt.Errorf("port %s lost what was attached to it", asked[index].name)
	}
}

// attach attaches to ports that lack something.
func (w *portWatch) attach(p *datapath.Ports) {
	var tried, ready []*watchedPort
	var core, customers []string
	for _, port := range w.ports {
		if port.amiss == nil {
			continue
		}
		if tried = append(tried, port); port.reason == nil {
			port.reason = port.amiss
		}
		if port.amiss = w.prepare(p, port); port.amiss != nil {
			continue
		}
		ready = append(ready, port)
		if port.vpn == towardsCore {
			core = append(core, port.name)
		} else {
			customers = append(customers, port.name)
		}
	}
	for i, err := range w.agent.dp.AttachEach(p, core, customers) {
		ready[i].amiss = err
	}
	for _, port := range tried {
		w.tell(port)
	}
}

// prepare makes what a port's programs need: a scheduler, or the VPN of the interface.
func (w *portWatch) prepare(p *datapath.Ports, port *watchedPort) error {
	index, err := p.Index(port.name)
	if err != nil {
		return err
	}
	port.index = index
	if port.vpn != towardsCore {
		return w.agent.takePort(port)
	}
	w.agent.dropScheduler(port.name)
	return w.agent.addScheduler(port.name)
}

// tell logs once what is amiss with a port, and that it is mended.
func (w *portWatch) tell(port *watchedPort) {
	log := w.agent.log.With("port", port.name)
	if port.amiss == nil {
		log.Info("attached again", "because", port.reason)
		w.agent.metrics.reattached.Inc()
		port.reason, port.told = nil, ""
		return
	}
	if text := port.amiss.Error(); text != port.told {
		port.told = text
		log.Warn("a port has no programs; VPN packets on it are not shaped", "error", port.amiss)
	}
}

// publish says in /ready what is amiss.
func (w *portWatch) publish() {
	var amiss []error
	for _, port := range w.ports {
		if port.amiss != nil {
			amiss = append(amiss, port.amiss)
		}
	}
	w.agent.mu.Lock()
	defer w.agent.mu.Unlock()
	w.agent.amiss = several(amiss)
}

// takePort assigns an interface to the VPN of its port.
func (a *Agent) takePort(port *watchedPort) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var lengths datapath.Lengths
	for prefix := range a.reg.routes[port.vpn] {
		lengths.Add(prefix)
	}
	if err := a.dp.SetPort(port.index, a.cfg.VPNs[port.vpn].ID, lengths); err != nil {
		return fmt.Errorf("port %s: %w", port.name, err)
	}
	if !slices.Contains(a.ports[port.vpn], port.index) {
		a.ports[port.vpn] = append(a.ports[port.vpn], port.index)
	}
	return nil
}

// leavePort undoes what belongs to the interface that a port was.
func (a *Agent) leavePort(port *watchedPort) error {
	if port.vpn == towardsCore {
		a.dropScheduler(port.name)
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ports[port.vpn] = slices.DeleteFunc(a.ports[port.vpn], func(index int) bool { return index == port.index })
	return a.dp.RemovePort(port.index)
}

// addScheduler puts a scheduler on a core port, with the classes of the rates that flows have already.
func (a *Agent) addScheduler(name string) error {
	s, err := datapath.OpenScheduler(name, a.mode, a.cfg.Flows, a.cfg.Queue)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, r := range a.dp.Rates {
		if r.Cost != 0 {
			s.SetRate(uint32(i), datapath.Rate(r.Cost))
		}
	}
	a.schedulers = append(a.schedulers, s)
	return nil
}

func (a *Agent) dropScheduler(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.schedulers = slices.DeleteFunc(a.schedulers, func(s *datapath.Scheduler) bool {
		if s.Port == name {
			s.Close()
		}
		return s.Port == name
	})
}

// attached is nil while all ports have their programs.
func (a *Agent) attached() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dp == nil {
		return errors.New("its programs are not attached")
	}
	if a.amiss != nil {
		return fmt.Errorf("without programs: %s", strings.ReplaceAll(a.amiss.Error(), "\n", "; "))
	}
	return nil
}
