package scratchns

import (
	"errors"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

func TestPortIsThereAndNowhereElse(t *testing.T) {
	name, err := Run(func(netns.NsHandle) (string, error) {
		l, err := netlink.LinkByName(Port)
		if err != nil {
			return "", err
		}
		return l.Attrs().Name, nil
	})
	if err != nil || name != Port {
		t.Fatalf("found %q (%v), want %q", name, err, Port)
	}
	if _, err := netlink.LinkByName(Port); err == nil {
		t.Error("the port is in the test's own namespace")
	}
}

func TestWhatTheFunctionSaysComesBack(t *testing.T) {
	want := errors.New("no such feature")
	if _, err := Run(func(netns.NsHandle) (int, error) { return 0, want }); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
