package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// build makes the whole topology. Progress goes to the client line by line.
func (g *guest) build(p Plan, out *frames) error {
	say := func(format string, args ...any) { _ = out.send(frameProgress, fmt.Appendf(nil, format, args...)) }
	say("load kernel modules")
	// A native kernel is probed before, may have features built in, and its own
	// settings are not the lab's to change.
	if g.backend == UML {
		if err := errors.Join(loadModules(p.Modules...), apply(p.Settings)); err != nil {
			return err
		}
	}
	say("make %d namespaces and their links", len(p.Namespaces))
	var adds []string
	for _, name := range p.Namespaces {
		adds = append(adds, "netns add "+name)
	}
	if err := errors.Join(runBatch("", "ip", adds), runBatch("", "ip", p.Root.IP)); err != nil {
		return err
	}
	for _, n := range p.Nodes {
		if err := g.configure(n); err != nil {
			return fmt.Errorf("configure %s: %w", n.Name, err)
		}
	}
	if err := g.startRouters(p.Nodes, say); err != nil {
		return err
	}
	return g.startDaemons(p.Nodes, say)
}

// configure brings up one namespace's interfaces. The address family of a
// setting exists only once its interface does, hence the order.
func (g *guest) configure(n NodePlan) error {
	err := inNamespaces(func() error {
		return errors.Join(apply(n.Settings), plainInterfaces(n.Plain))
	}, "/run/netns/"+n.Name)
	if err != nil {
		return err
	}
	return errors.Join(runBatch(n.Name, "ip", n.Batch.IP), runBatch(n.Name, "tc", n.Batch.TC))
}

// apply writes sysctls; /proc/sys/net is that of the calling thread.
func apply(settings []Setting) error {
	for _, s := range settings {
		if err := os.WriteFile("/proc/sys/"+s.Key, []byte(s.Value), 0o644); err != nil {
			return fmt.Errorf("set %s to %s: %w", strings.ReplaceAll(s.Key, "/", "."), s.Value, err)
		}
	}
	return nil
}

// startRouters starts every router's FRR daemons and loads their configuration.
// Starting is mostly waiting, so all routers start at once.
func (g *guest) startRouters(nodes []NodePlan, say func(string, ...any)) error {
	var wait sync.WaitGroup
	failures := make([]error, len(nodes))
	for i, n := range nodes {
		if !n.Router {
			continue
		}
		say("start FRR on %s", n.Name)
		wait.Go(func() { failures[i] = g.startFRR(n) })
	}
	wait.Wait()
	return errors.Join(failures...)
}

func (g *guest) startFRR(n NodePlan) error {
	run, etc := "/run/frr/"+n.Name, "/etc/frr/"+n.Name
	for _, folder := range []string{run, etc, "/var/tmp/frr"} {
		if err := frrFolder(folder); err != nil {
			return err
		}
	}
	if err := os.WriteFile(etc+"/frr.conf", []byte(n.FRR), 0o640); err != nil {
		return fmt.Errorf("write FRR's configuration: %w", err)
	}
	if err := os.WriteFile(etc+"/vtysh.conf", []byte("service integrated-vtysh-config\n"), 0o640); err != nil {
		return fmt.Errorf("write vtysh's configuration: %w", err)
	}
	for _, d := range n.FRRD {
		words := strings.Fields(d)
		argv := append([]string{"/usr/lib/frr/" + words[0], "-N", n.Name, "-u", "frr", "-g", "frr", "--log", "stdout"}, words[1:]...)
		if err := g.daemons.start(g.output, n.Name, words[0], argv, nil); err != nil {
			return err
		}
		if err := waitFor(run + "/" + words[0] + ".vty"); err != nil {
			return fmt.Errorf("%s on %s does not open its terminal socket; see its log: %w", words[0], n.Name, err)
		}
	}
	return loadFRR(n.Name, etc+"/frr.conf")
}

// loadSegments adds lines to the running configuration of several routers.
func (g *guest) loadSegments(lines map[string]string) error {
	var failed error
	for router, text := range lines {
		file := "/etc/frr/" + router + "/segments.conf"
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			return fmt.Errorf("write FRR's configuration: %w", err)
		}
		failed = errors.Join(failed, loadFRR(router, file))
	}
	return failed
}

// frrFolder belongs to frr, not root: the daemons drop privileges first. The
// group is the one vtysh may talk through.
func frrFolder(path string) error {
	owner, err := user.Lookup("frr")
	if err != nil {
		return fmt.Errorf("find user frr (install the package frr): %w", err)
	}
	group, err := user.LookupGroup("frrvty")
	if err != nil {
		return fmt.Errorf("find group frrvty (install the package frr): %w", err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(group.Gid)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return errors.Join(os.Chown(path, uid, gid), os.Chown(filepath.Dir(path), uid, gid))
}

// waitFor waits for a socket file: FRR has no other sign of readiness.
func waitFor(path string) error {
	for range 200 {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("%s does not appear within 10 s", path)
}

// loadFRR checks the file, loads it, and reads the output of the loading: vtysh returns 0 although a daemon
// refused a line.
func loadFRR(node, file string) error {
	for _, args := range [][]string{{"-C", "-f", file}, {"-f", file}} {
		cmd := exec.Command("vtysh", append([]string{"-N", node}, args...)...)
		out, err := cmd.CombinedOutput()
		said := complaints(out)
		if err != nil || said != "" {
			return fmt.Errorf("FRR of %s refuses its configuration: %w: %s", node, errors.Join(err, errors.New("vtysh")), said)
		}
	}
	return nil
}

// complaints drops vtysh's chatter about progress.
func complaints(out []byte) string {
	lines := slices.DeleteFunc(strings.Split(string(bytes.TrimSpace(out)), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "[") && strings.Contains(line, "]: sent") ||
			strings.Contains(line, "done") || strings.HasPrefix(line, "Waiting for children")
	})
	return strings.Join(lines, "; ")
}

func (g *guest) startDaemons(nodes []NodePlan, say func(string, ...any)) error {
	for _, n := range nodes {
		for _, d := range n.Daemons {
			say("start %s on %s", d.Name, n.Name)
			var env []string
			for key, value := range d.Environment {
				env = append(env, key+"="+value)
			}
			slices.Sort(env)
			if err := g.daemons.start(g.output, n.Name, d.Name, d.Command, env); err != nil {
				return err
			}
		}
	}
	return nil
}
