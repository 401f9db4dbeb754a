package lab

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/testkit/ports"
)

func TestReadTransferTakesEachEndsPart(t *testing.T) {
	received := `{"intervals":[{"start_s":0,"end_s":1,"bytes":1000000,"mbps":8}],"bytes":1000000,"ended":"2026-01-02T03:04:07Z"}`
	sent := `{"began":"2026-01-02T03:04:05Z","retransmits":3,"congestion_control":"htcp"}`
	got, err := readTransfer([]byte(received), []byte(sent), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := &TCPSeries{
		Intervals: []Interval{{End: 1, Bytes: 1e6, Mbps: 8}}, Streams: 2, Bytes: 1e6, Seconds: 2, Mbps: 4,
		Retransmits: 3, CongestionControl: "htcp", began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(TCPSeries{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := readTransfer([]byte("killed"), []byte(sent), 2); err == nil {
		t.Error("a receiver that printed no report was accepted")
	}
}

// Both ends of a transfer run as the programs they are, over the loopback.
func TestTransferDeliversEverythingThatWasSent(t *testing.T) {
	port := strconv.Itoa(ports.Reserve(t))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sink := exec.Command(self, "lab", "guest", "sink", port, "2")
	said, err := sink.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var received strings.Builder
	sink.Stdout = &received
	if err := sink.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Process.Kill() })
	if _, err := said.Read(make([]byte, 64)); err != nil {
		t.Fatalf("the receiver does not listen: %v", err)
	}
	source := exec.Command(self, "lab", "guest", "source", "127.0.0.1:"+port, "2", "1.2", "cubic", "8")
	source.Stdin = strings.NewReader(`"2026-01-02T03:04:05Z"`) // it is time
	sent, err := source.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Wait(); err != nil {
		t.Fatal(err)
	}
	got, err := readTransfer([]byte(received.String()), sent, 2)
	if err != nil {
		t.Fatal(err)
	}
	var sum uint64
	for _, i := range got.Intervals {
		sum += i.Bytes
	}
	if got.Bytes == 0 || sum != got.Bytes {
		t.Errorf("received %d bytes, %d in intervals", got.Bytes, sum)
	}
	if got.CongestionControl != "cubic" {
		t.Errorf("congestion control %q, want cubic", got.CongestionControl)
	}
}
