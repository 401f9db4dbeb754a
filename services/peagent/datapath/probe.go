package datapath

import (
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/scratchns"
)

// Features are what a kernel can do. A nil error means that the feature works; another names it and says what to do.
type Features struct {
	Programs, Fq, HTB error
	// Kernel is its release, JIT whether it compiles programs.
	Kernel string
	JIT    bool
	// Verified is the number of instructions that the verifier processed per program, of the million that it allows;
	// empty if the kernel does not report it.
	Verified map[string]uint32
}

// A feature is something that the datapath needs of the kernel.
type feature struct{ name, remedy string }

var (
	featurePrograms = feature{"eBPF programs on clsact", "use Linux 5.12 or newer with CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF and " +
		"CONFIG_NET_SCH_INGRESS, and run the agent with CAP_BPF and CAP_NET_ADMIN"}
	featureFq  = feature{"fq", "enable CONFIG_NET_SCH_FQ (modprobe sch_fq), or use mode htb or police"}
	featureHTB = feature{"HTB", "enable CONFIG_NET_SCH_HTB (modprobe sch_htb), or use mode edt or police"}
)

// unsupported is nil for a nil error.
func (f feature) unsupported(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s does not work: %w; %s", f.name, err, f.remedy)
}

// Mode is the best mode that the kernel supports.
func (f Features) Mode() Mode {
	switch {
	case f.Fq == nil:
		return EDT
	case f.HTB == nil:
		return HTB
	}
	return Police
}

// Probe tries every feature once in a temporary namespace.
func Probe() (Features, error) { return scratchns.Run(probeIn) }

func probeIn(netns.NsHandle) (f Features, _ error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		f.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	d, err := Open(Options{Flows: 4, Prefixes: 4, MarkMask: 0xffff})
	if err == nil {
		f.Verified, f.JIT = d.verified()
		err = featurePrograms.unsupported(attachOnce(d))
		_ = d.Close() // the namespace is temporary
	}
	f.Programs = err
	_, f.HTB = OpenScheduler(scratchns.Port, HTB, 4, 128)
	_ = CloseScheduler(scratchns.Port) // the namespace is temporary
	_, f.Fq = OpenScheduler(scratchns.Port, EDT, 4, 128)
	return f, nil
}

func (d *Datapath) verified() (out map[string]uint32, jit bool) {
	out = map[string]uint32{}
	for name, p := range map[string]*ebpf.Program{
		"customer_in": d.CustomerIn, "customer_out": d.CustomerOut, "core_in": d.CoreIn, "core_out": d.CoreOut,
	} {
		if info, err := p.Info(); err == nil {
			if n, ok := info.VerifiedInstructions(); ok {
				out[name] = n
			}
			size, err := info.JitedSize()
			jit = err == nil && size > 0
		}
	}
	return out, jit
}

func attachOnce(d *Datapath) error {
	p, err := OpenPorts()
	if err != nil {
		return err
	}
	defer p.Close()
	return d.Attach(p, []string{scratchns.Port}, nil)
}
