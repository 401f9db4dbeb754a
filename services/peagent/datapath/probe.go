package datapath

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
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

// Probe tries everything once in a namespace that is thrown away. Asking the kernel is surer than asking for its version.
func Probe() (Features, error) {
	type result struct {
		f   Features
		err error
	}
	done := make(chan result)
	go func() {
		// The thread changes namespace and is not given back: it ends with the goroutine.
		runtime.LockOSThread()
		f, err := probeHere()
		done <- result{f, err}
	}()
	r := <-done
	return r.f, r.err
}

func probeHere() (f Features, err error) {
	ns, err := netns.New()
	if err != nil {
		return f, fmt.Errorf("make a namespace to probe the kernel in: %w", err)
	}
	defer ns.Close()
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}, PeerName: "probe1"}); err != nil {
		return f, fmt.Errorf("make an interface to probe the kernel with: %w", err)
	}
	d, err := Open(Options{Flows: 4, Prefixes: 4, MarkMask: 0xffff})
	if f.Programs = err; err == nil {
		f.Programs = d.Attach("probe0", Core)
		_ = d.Close() // a throw-away
	}
	_, f.HTB = OpenScheduler("probe0", HTB, 4, 128)
	_ = CloseScheduler("probe0") // a throw-away
	_, f.Fq = OpenScheduler("probe0", EDT, 4, 128)
	return f, nil
}
