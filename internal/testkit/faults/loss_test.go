package faults

import (
	"net"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Of packets to a port and from it some are lost, none of others, and none afterwards. A SYN that is lost is sent again
// after a second, so connections are made all the same.
func TestLose(t *testing.T) {
	address := func() (net.Listener, string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l, l.Addr().String()
	}
	opens := func(address string, within time.Duration) bool {
		c, err := net.DialTimeout("tcp", address, within)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	_, bad := address()
	_, good := address()
	const soon = 100 * time.Millisecond // before the second SYN
	Lose(t, bad, 0.3)
	lost := 0
	for range 50 {
		if !opens(bad, soon) {
			lost++
		}
	}
	// A handshake loses its SYN or the answer: 25.5 of 50, with a standard deviation of 3.5.
	if lost < 11 || lost > 40 {
		t.Errorf("of 50 connections %d lost a packet of the first two, want 25.5 ± 14.5", lost)
	}
	Lose(t, bad, 1)
	if opens(bad, soon) || !opens(good, await.Patience) {
		t.Error("all packets of one address are lost, and a connection to it opens, or none to another")
	}
	StopLosing(t)
	if !opens(bad, await.Patience) {
		t.Error("packets are still lost")
	}
}
