package datapath

import (
	"github.com/vishvananda/netns"

	"github.com/millrace/millrace/internal/scratchns"
)

// Features is what a kernel can do; nil means it works.
type Features struct {
	Programs, Fq, HTB error
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
	d, err := Open(Options{Flows: 4, Prefixes: 4, MarkMask: 0xffff})
	if f.Programs = err; err == nil {
		f.Programs = attachOnce(d)
		_ = d.Close() // a throw-away
	}
	_, f.HTB = OpenScheduler(scratchns.Port, HTB, 4, 128)
	_ = CloseScheduler(scratchns.Port) // a throw-away
	_, f.Fq = OpenScheduler(scratchns.Port, EDT, 4, 128)
	return f, nil
}

func attachOnce(d *Datapath) error {
	p, err := OpenPorts()
	if err != nil {
		return err
	}
	defer p.Close()
	return d.Attach(p, []string{scratchns.Port}, nil)
}
