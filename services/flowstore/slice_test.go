package flowstore

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	collector "github.com/millrace/millrace/collectors/flow"
)

// TestSoftflowdOverUDPToIntervals runs the real path: datagrams of a real
// softflowd (an iperf3 transfer in three exports) over a socket, the bus, the
// engine, the fixed-interval rule.
func TestSoftflowdOverUDPToIntervals(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	cfg := collector.DefaultConfiguration()
	cfg.Listen = []string{"127.0.0.1:0"}
	cfg.BatchInterval = 20 * time.Millisecond
	c, err := collector.New(cfg, collector.Dependencies{Bus: r.bus, Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	sendShifted(t, c.Listening()[0].String(), "9-live", began)
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(r.intervals(question(began.Add(-time.Hour), began.Add(time.Hour), time.Hour, 1e6))) == 0 {
		time.Sleep(10 * time.Millisecond) // the bus is still delivering; go test's timeout ends this
	}
	var bytes, packets uint64
	for _, i := range r.intervals(question(began.Add(-time.Minute), began.Add(time.Minute), time.Second, 0)) {
		if i.SrcPort != 39766 { // the transfer's; the other flows are its control connection and replies
			continue
		}
		if i.SrcAddr != "10.1.0.1" || i.DstAddr != "10.1.0.2" || i.DstPort != 5201 || i.InIf != 7 || i.SamplingRate != 1 || i.Exporter != "127.0.0.1" {
			t.Errorf("unexpected interval %v", i)
		}
		bytes += i.Bytes
		packets += i.Packets
	}
	// The three records of the transfer, as nfdump prints them too.
	if want := uint64(7283213 + 7678044 + 4921452); bytes != want {
		t.Errorf("intervals sum to %d bytes, want %d", bytes, want)
	}
	if want := uint64(174 + 177 + 113); packets != want {
		t.Errorf("intervals sum to %d packets, want %d", packets, want)
	}
}

// sendShifted sends a v9 capture as if it were made now.
func sendShifted(t *testing.T, to, name string, now time.Time) {
	t.Helper()
	conn, err := net.Dial("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	paths, err := filepath.Glob(filepath.Join("..", "..", "collectors", "flow", "decode", "testdata", "softflowd", name+"-*.bin"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no capture %s: %v", name, err)
	}
	var shift uint32
	for i, p := range paths {
		d, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		seconds := binary.BigEndian.Uint32(d[8:])
		if i == 0 {
			shift = uint32(now.Unix()) - seconds
		}
		binary.BigEndian.PutUint32(d[8:], seconds+shift)
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(50 * time.Millisecond) // loopback delivery, before the socket is closed
}
