package kernel

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// ErrConflict marks objects of another program where ours should be.
var ErrConflict = errors.New("owned by another program")

// Configuration of a Kernel.
type Configuration struct {
	// Namespace to work in; netns.None() is the caller's.
	Namespace netns.NsHandle
	// Owned is the file that remembers what was replaced.
	Owned string
}

var discard = slog.New(slog.DiscardHandler)

// Kernel is one router's network namespace.
type Kernel struct {
	mu    sync.Mutex
	conn  *conn
	owned *owned
	bpf   *classifier
	log   *slog.Logger
	// Fault, when set, is called before every change; tests make each step fail in turn with it.
	Fault func(step string) error
}

// Open connects to the namespace and reads what an earlier agent left behind.
func Open(cfg Configuration, log *slog.Logger) (*Kernel, error) {
	c, err := dial(cfg.Namespace)
	if err != nil {
		return nil, err
	}
	o, err := readOwned(cfg.Owned)
	if err != nil {
		c.close()
		return nil, err
	}
	k := &Kernel{conn: c, owned: o, log: log}
	k.bpf = &classifier{kernel: k}
	return k, nil
}

// Close releases sockets and file descriptors. Nothing in the kernel changes, and traffic flows on.
func (k *Kernel) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bpf.close()
	k.conn.close()
}

// step runs one change under its name.
func (k *Kernel) step(name string, change func() error) error {
	if k.Fault != nil {
		if err := k.Fault(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := change(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	k.log.Debug("kernel changed", "step", name)
	return nil
}

// Ensure adds and changes what the spec needs, before any packet is steered into it. It removes nothing. A part that
// cannot be made keeps no other from it.
func (k *Kernel) Ensure(s Spec) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	lacks := []error{k.ensureRoutes(s), k.ensureOverlay(s)}
	for _, family := range families {
		lacks = append(lacks, k.ensureRules(s.pathsOf(family), family))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Ports)) {
		lacks = append(lacks, k.ensurePort(name, s.Ports[name]))
	}
	return errors.Join(lacks...)
}

// Switch makes the classifier steer packets as the spec says. From here on packets see the change.
func (k *Kernel) Switch(s Spec) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.bpf.ensure(s)
}

// Prune removes what is ours and not in the spec.
func (k *Kernel) Prune(s Spec) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.bpf.prune(s); err != nil {
		return err
	}
	if err := k.pruneOverlay(s); err != nil {
		return err
	}
	if err := k.prunePorts(s.Ports); err != nil {
		return err
	}
	for _, family := range families {
		if err := k.pruneRules(s.pathsOf(family), family); err != nil {
			return err
		}
	}
	return k.pruneRoutes(s)
}

// Verify compares the kernel with the spec and names the first difference.
func (k *Kernel) Verify(s Spec) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, family := range families {
		if err := k.verifyRules(s.pathsOf(family), family); err != nil {
			return err
		}
	}
	if err := k.verifyRoutes(s); err != nil {
		return err
	}
	if err := k.verifyOverlay(s); err != nil {
		return err
	}
	for name, port := range s.Ports {
		if err := k.verifyPort(name, port); err != nil {
			return err
		}
	}
	if err := k.verifyNothingElse(s); err != nil {
		return err
	}
	return k.bpf.verify(s)
}

// link finds an interface by its name.
func (k *Kernel) link(name string) (netlink.Link, error) {
	l, err := k.conn.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return l, nil
}
