package ports

import (
	"net"
	"testing"
)

func TestPortsAreBelowTheKernelsOwnAndDiffer(t *testing.T) {
	end, err := ephemeral()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for range 200 {
		p := Reserve(t)
		if p >= end || seen[p] {
			t.Fatalf("port %d: given before %v, and the kernel's own begin with %d", p, seen[p], end)
		}
		seen[p] = true
	}
}

// TestAPortIsFreeAgain once it is released, and while it is reserved its owner can listen, close and listen.
func TestAPortIsFreeAgain(t *testing.T) {
	port, release, err := Take()
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l, err := net.Listen("tcp", Addr(port))
		if err != nil {
			t.Fatal(err)
		}
		if unused(port) {
			t.Errorf("port %d has a listener and counts as unused", port)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if !unused(port) {
		t.Errorf("port %d is not free after its test", port)
	}
}

func TestBounds(t *testing.T) {
	for ephemeral, want := range map[int][2]int{32768: {10_000, 30_000}, 15_000: {10_000, 15_000}, 4000: {2000, 4000}} {
		if begin, end := bounds(ephemeral); begin != want[0] || end != want[1] {
			t.Errorf("below %d: %d to %d, want %v", ephemeral, begin, end, want)
		}
	}
}
