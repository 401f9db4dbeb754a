package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/millrace/millrace/scenario"
)

// Options of Up; the zero value is useful.
type Options struct {
	// Name distinguishes labs on one machine; default the scenario's name.
	Name string
	// Backend; default Auto.
	Backend Backend
	// Output is where logs, certificates and configurations go; default the
	// lab's state folder, which goes away with the lab.
	Output string
	// Binary is the millrace program that guest and agents run; default this
	// program, which must call Reexec.
	Binary string
	// Memory of a UML guest, default 2G. It is taken as it is used.
	Memory string
	// Progress gets what happens now, in plain words.
	Progress func(string)
}

// Lab is a running lab. One that Up returned ends with this process unless it is detached; one that Attach
// returned does not.
type Lab struct {
	State
	Scenario *scenario.Scenario

	lifeline   *os.File
	supervisor *exec.Cmd
	progress   func(string)
}

var labName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Up boots a lab and waits until its routers have converged.
func Up(ctx context.Context, s *scenario.Scenario, o Options) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("a lab makes namespaces and interfaces; run as root")
	}
	l, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	if err := l.boot(ctx, o); err != nil {
		// The console usually has the reason; keep its end before the folder goes.
		err = fmt.Errorf("bring up lab %s: %w%s", l.Name, err, l.consoleTail())
		return nil, errors.Join(err, l.Down())
	}
	return l, nil
}

// prepare claims the name and lays out the folders.
func prepare(s *scenario.Scenario, o Options) (*Lab, error) {
	l := &Lab{Scenario: s, progress: o.Progress}
	if l.progress == nil {
		l.progress = func(string) {}
	}
	name := o.Name
	if name == "" {
		name = s.Name
	}
	if !labName.MatchString(name) {
		return nil, fmt.Errorf("lab name %q: use letters, digits, dots and dashes", name)
	}
	if old, err := readState(name); err == nil && old.Alive() {
		return nil, fmt.Errorf("lab %s is already up since %s; take it down first (millrace lab down %s) or give another --name",
			name, old.Since.Format(time.TimeOnly), name)
	}
	backend, err := choose(s, o.Backend)
	if err != nil {
		return nil, err
	}
	if err := os.RemoveAll(stateFolder(name)); err != nil {
		return nil, fmt.Errorf("remove what lab %s left: %w", name, err)
	}
	output := o.Output
	if output == "" {
		output = stateFolder(name)
	}
	if output, err = filepath.Abs(output); err != nil {
		return nil, fmt.Errorf("find output folder: %w", err)
	}
	for _, folder := range []string{stateFolder(name), filepath.Join(output, "logs"), filepath.Join(output, "bin")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("make folder: %w", err)
		}
	}
	l.State = State{Name: name, Scenario: s.Name, Backend: backend, Output: output, Since: time.Now()}
	return l, nil
}

func (l *Lab) boot(ctx context.Context, o Options) error {
	binary, err := copyBinary(o.Binary, l.Output)
	if err != nil {
		return err
	}
	if err := writeFiles(l.Scenario, l.Output); err != nil {
		return err
	}
	memory := o.Memory
	if memory == "" {
		memory = "2G"
	}
	l.progress(fmt.Sprintf("start the guest (%s)", l.Backend))
	l.sayMemory()
	if err := l.launch(supervisorConfig{Backend: l.Backend, Binary: binary, Output: l.Output, Memory: memory}); err != nil {
		return err
	}
	if err := l.awaitGuest(ctx); err != nil {
		return err
	}
	plan := newPlan(l.Scenario, l.Output, binary)
	if _, err := l.order(ctx, request{Build: &plan}, call{progress: l.progress}); err != nil {
		return err
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	l.Ready = true
	return l.State.write()
}

// copyBinary gives the lab a binary of its own, so that rebuilding the program
// does not pull the text pages from under a running guest.
func copyBinary(path, output string) (string, error) {
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			return "", fmt.Errorf("find own binary: %w", err)
		}
	}
	in, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open the binary for the guest: %w", err)
	}
	defer in.Close()
	target := filepath.Join(output, "bin", "millrace")
	_ = os.Remove(target)
	out, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return "", fmt.Errorf("copy the binary for the guest: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("copy the binary for the guest: %w", err)
	}
	return target, nil
}

// launch starts the supervisor in namespaces of its own. It is in its own
// session, so that Ctrl-C reaches the launcher only, which then takes the lab
// down in order.
func (l *Lab) launch(c supervisorConfig) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode supervisor configuration: %w", err)
	}
	console, err := os.Create(l.console())
	if err != nil {
		return fmt.Errorf("make console log: %w", err)
	}
	defer console.Close()
	line, lifeline, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make lifeline: %w", err)
	}
	defer line.Close()
	cmd := exec.Command(c.Binary, "lab", "supervisor", "start")
	cmd.Env = append(os.Environ(), envSupervisor+"="+string(raw))
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = console, console
	cmd.ExtraFiles = []*os.File{line} // becomes lifelineFD
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Setsid:     true,
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the supervisor: %w", err), lifeline.Close())
	}
	l.supervisor, l.lifeline, l.Pid = cmd, lifeline, cmd.Process.Pid
	if l.Start, err = startTime(l.Pid); err != nil {
		return fmt.Errorf("the supervisor ended at once: %w", err)
	}
	return l.State.write()
}

// awaitGuest waits for the guest's first answer.
func (l *Lab) awaitGuest(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the guest does not answer within a minute"))
	defer cancel()
	for {
		if _, err := l.order(ctx, request{Daemons: true}, call{}); err == nil {
			return nil
		}
		if !l.Alive() {
			return errors.New("the guest ended while booting")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// settle waits for routes, then for the labels that are made from them.
func (l *Lab) settle(ctx context.Context) error {
	if l.Scenario.IGP.SegmentRouting {
		routes := converged(l.Scenario)
		routes.Labels = nil
		if err := l.await(ctx, routes); err != nil {
			return err
		}
		lines := map[string]string{}
		for _, r := range l.Scenario.Routers {
			lines[r.Name] = segmentConfig(r)
		}
		l.progress("turn on segment routing")
		if _, err := l.order(ctx, request{Segments: lines}, call{}); err != nil {
			return err
		}
		if err := l.nudge(ctx); err != nil {
			return err
		}
	}
	if err := l.Converge(ctx); err != nil {
		return err
	}
	return l.meet(ctx)
}

// nudge has every router compute its labels again for as long as some are
// missing: FRR 8.4 leaves the label of a next hop empty, or 0, whose SRGB came before
// its adjacency, until the next time it computes paths. A new cost of a
// loopback makes all routers do that and moves no path.
func (l *Lab) nudge(ctx context.Context) error {
	const patience, times = 15 * time.Second, 6
	for cost := 1; cost <= times; cost++ {
		if err := l.awaitFor(ctx, patience, converged(l.Scenario)); err == nil || ctx.Err() != nil {
			return err
		}
		first := l.Scenario.Routers[0].Name
		l.progress("labels are missing; have the routers compute paths again")
		text := fmt.Sprintf("interface lo\n ip ospf cost %d\nexit\n", cost)
		if _, err := l.order(ctx, request{Segments: map[string]string{first: text}}, call{}); err != nil {
			return err
		}
	}
	return nil
}

// Converge waits until every router has a route to every subnet and a label to
// every other router.
func (l *Lab) Converge(ctx context.Context) error { return l.await(ctx, converged(l.Scenario)) }

func (l *Lab) await(ctx context.Context, c Convergence) error {
	return l.awaitFor(ctx, 2*time.Minute, c)
}

func (l *Lab) awaitFor(ctx context.Context, patience time.Duration, c Convergence) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said := ""
	_, err := l.order(ctx, request{Converge: &c}, call{progress: func(text string) { said = text; l.progress(text) }})
	if err != nil {
		return fmt.Errorf("routers have not converged (%s): %w", said, err)
	}
	return nil
}

func (l *Lab) console() string { return filepath.Join(l.Output, "logs", "console.log") }

func (l *Lab) consoleTail() string {
	raw, err := os.ReadFile(l.console())
	if err != nil || len(raw) == 0 {
		return ""
	}
	return "\nthe guest's console ended with:\n" + string(raw[max(0, len(raw)-1500):])
}

// Detach lets the lab outlive this process.
func (l *Lab) Detach() error {
	_, err := l.lifeline.Write([]byte{detach})
	return errors.Join(err, l.lifeline.Close(), l.supervisor.Process.Release())
}

// Attach finds a running lab by name; an empty name means the only one.
func Attach(name string) (*Lab, error) {
	if name == "" {
		all, err := List()
		if err != nil {
			return nil, err
		}
		if len(all) != 1 {
			return nil, fmt.Errorf("%w (%d labs are up): give a name", ErrNoLab, len(all))
		}
		name = all[0].Name
	}
	s, err := readState(name)
	if err != nil {
		return nil, err
	}
	if !s.Alive() {
		return nil, fmt.Errorf("lab %s: %w; it was killed", name, ErrNoLab)
	}
	l := &Lab{State: s, progress: func(string) {}}
	l.Scenario, err = scenario.Load(filepath.Join(s.Output, "scenario.yaml"))
	return l, err
}
