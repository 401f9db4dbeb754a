package datapath

import (
	"github.com/cilium/ebpf"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/internal/scratchns"
)

// Features is what a kernel can do; nil means it works.
type Features struct {
	Programs, Fq, HTB error
	// Kernel is its release, JIT whether it compiles programs.
	Kernel string
	JIT    bool
	// Verified is how many instructions its verifier walked through for each program, of a million that it would; 0
	// where it does not say.
	Verified map[string]uint32
}

// Mode is the best the kernel has.
func (f Features) Mode() Mode {
	switch {
	case f.Fq == nil:
		return EDT
	case f.HTB == nil:
		return HTB
	}
	return Police
}

// Probe tries everything once in a namespace that is thrown away.
func Probe() (Features, error) { return scratchns.Run(probeIn) }

func probeIn(netns.NsHandle) (f Features, _ error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		f.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	d, err := Open(Options{Flows: 4, Prefixes: 4, MarkMask: 0xffff})
	if f.Programs = err; err == nil {
		f.Verified, f.JIT = d.verified()
		f.Programs = attachOnce(d)
		_ = d.Close() // a throw-away
	}
	_, f.HTB = OpenScheduler(scratchns.Port, HTB, 4, 128)
	_ = CloseScheduler(scratchns.Port) // a throw-away
	_, f.Fq = OpenScheduler(scratchns.Port, EDT, 4, 128)
	return f, nil
}

func (d *Datapath) verified() (out map[string]uint32, jit bool) {
	out = map[string]uint32{}
	for name, p := range map[string]*ebpf.Program{"customer_in": d.CustomerIn, "customer_out": d.CustomerOut, "core_in": d.CoreIn, "core_out": d.CoreOut} {
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
