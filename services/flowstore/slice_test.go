package flowstore

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	collector "github.com/millrace/millrace/collectors/flow"
	"github.com/millrace/millrace/internal/testkit/await"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// TestSoftflowdOverUDPToIntervals runs the real path: datagrams of a real
// softflowd (an iperf3 transfer in three exports) over a socket, the bus, the
// engine, the fixed-interval rule.
func TestSoftflowdOverUDPToIntervals(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	cfg := collector.DefaultConfiguration()
	cfg.Listen = []string{"127.0.0.1:0"}
	cfg.Exporters.AcceptUnlisted = true
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
	// The three records of the transfer, as nfdump prints them too; each may come in a batch of its own.
	const wantBytes, wantPackets = uint64(7283213 + 7678044 + 4921452), uint64(174 + 177 + 113)
	var bytes, packets uint64
	await.True(t, "the transfer is stored", func() bool {
		bytes, packets = transfer(t, r.intervals(question(began.Add(-time.Minute), began.Add(time.Minute), time.Second, 0)))
		return bytes >= wantBytes && packets >= wantPackets
	})
	if bytes != wantBytes || packets != wantPackets {
		t.Errorf("intervals sum to %d bytes in %d packets, want %d in %d", bytes, packets, wantBytes, wantPackets)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// transfer sums up the intervals of the transfer; the other flows are its control connection and replies.
func transfer(t *testing.T, intervals []*flowv1.IntervalsResponse) (bytes, packets uint64) {
	t.Helper()
	for _, i := range intervals {
		if i.SrcPort != 39766 {
			continue
		}
		if i.SrcAddr != "10.1.0.1" || i.DstAddr != "10.1.0.2" || i.DstPort != 5201 || i.InIf != 7 || i.SamplingRate != 1 || i.Exporter != "127.0.0.1" {
			t.Errorf("unexpected interval %v", i)
		}
		bytes += i.Bytes
		packets += i.Packets
	}
	return bytes, packets
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
}
