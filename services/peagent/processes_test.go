package peagent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/services/peagent/law"
)

// roleVariable makes this test binary play one part of a benchmark: agents and
// load ends are processes of their own, as on a network. In one process the
// agents' goroutines would queue behind those of thousands of connections.
const roleVariable = "MILLRACE_PEAGENT_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	signal.Ignore(os.Interrupt)
	if err := play(role, bufio.NewReader(os.Stdin)); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
}

// play reads arguments, a line of JSON, begins, and then answers each further line with one.
func play(role string, in *bufio.Reader) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	answer, err := begin(role, line)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	word := ""
	for {
		if err := out.Encode(answer(strings.TrimSpace(word))); err != nil {
			return err
		}
		if word, err = in.ReadString('\n'); err != nil {
			return nil // the parent has let go
		}
	}
}

func begin(role string, arguments []byte) (answer func(word string) any, err error) {
	switch role {
	case "sink":
		var a sinkArguments
		if err := json.Unmarshal(arguments, &a); err != nil {
			return nil, err
		}
		return a.begin()
	case "source":
		var a sourceArguments
		if err := json.Unmarshal(arguments, &a); err != nil {
			return nil, err
		}
		return a.begin()
	case "agent":
		var c Configuration
		if err := json.Unmarshal(arguments, &c); err != nil {
			return nil, err
		}
		return beginAgent(c)
	}
	return nil, fmt.Errorf("no such role")
}

// agentReport is the answer of an agent's process.
type agentReport struct {
	Attached   float64 // seconds from New to the end of Start
	CPU        float64 // seconds of this process, user and system
	Programs   float64 // seconds inside its eBPF programs, by kernel.bpf_stats_enabled
	Runs       uint64  // of these programs
	RSS        float64 // bytes
	Heap       float64 // bytes
	Maps       float64 // bytes
	Mode       string
	Flows      int
	Controlled int
	Requests   uint64
	Drops      uint64
	Lines      []string
}

func beginAgent(c Configuration) (func(string) any, error) {
	began := time.Now()
	a, err := New(c, Dependencies{Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		return nil, err
	}
	if err := a.Start(context.Background()); err != nil {
		return nil, err
	}
	attached := time.Since(began).Seconds()
	return func(string) any {
		r := agentReport{Attached: attached, Mode: a.mode.String(), CPU: ownProcessor(), RSS: resident()}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.Heap = float64(m.HeapAlloc)
		if b, err := a.dp.Memory(); err == nil {
			r.Maps = float64(b)
		}
		runs, spent, err := a.dp.Stats()
		if err == nil {
			r.Runs, r.Programs = runs, spent.Seconds()
		}
		for i, f := range a.Flows() {
			r.Flows++
			r.Drops += f.Drops
			if f.Phase != law.NoFeedback {
				r.Controlled++
			}
			if i < 3 {
				r.Lines = append(r.Lines, fmt.Sprintf("%+v", f))
			}
		}
		n, _ := a.dp.Count(0)
		r.Requests = n
		return r
	}, nil
}

func ownProcessor() float64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// resident is this process's resident memory in bytes.
func resident() float64 {
	raw, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kb * 1024
}

// process is a part that runs.
type process struct {
	t    testing.TB
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// process starts this test binary in a node's namespace; first is where its first answer goes.
func (n *network) process(node, role string, arguments, first any) *process {
	n.T.Helper()
	cmd := exec.Command("ip", "netns", "exec", n.NS(node), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		n.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		n.T.Fatal(err)
	}
	p := &process{t: n.T, name: role + " in " + node, cmd: cmd, in: in, out: json.NewDecoder(out)}
	n.T.Cleanup(p.end)
	if err := json.NewEncoder(in).Encode(arguments); err != nil {
		n.T.Fatal(err)
	}
	p.answer(first)
	return p
}

func (p *process) answer(to any) {
	p.t.Helper()
	if err := p.out.Decode(to); err != nil {
		p.t.Fatalf("%s ended: %v", p.name, err)
	}
}

// ask sends a request for another answer.
func (p *process) ask(to any) { p.t.Helper(); p.tell("", to) }

// tell sends a line and reads the answer.
func (p *process) tell(word string, to any) {
	p.t.Helper()
	if _, err := p.in.Write([]byte(word + "\n")); err != nil {
		p.t.Fatalf("%s ended: %v", p.name, err)
	}
	p.answer(to)
}

func (p *process) end() {
	if p.cmd == nil {
		return
	}
	_ = p.in.Close()
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
	p.cmd = nil
}
