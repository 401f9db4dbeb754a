package flowstore

import (
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
)

// TestSlowReadersHoldUpNoInsert: as many clients as the engine has places for request more rows than fit on the way to
// them, and take one each.
func TestSlowReadersHoldUpNoInsert(t *testing.T) {
	r := newRig(t, testConfiguration(t.TempDir()))
	const places, seconds = 4, 500_000
	long := flowrecord.Record{
		Exporter: netip.MustParseAddr("192.0.2.1"), Start: day0, End: day0.Add(seconds * time.Second),
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), Bytes: 1 << 40, SamplingRate: 1, Source: flowrecord.NetFlowV9,
	}
	r.deliver(batch("one flow of many seconds", long))
	for range places {
		stream, err := r.client.Intervals(t.Context(), connect.NewRequest(question(day0, day0.Add(seconds*time.Second), time.Second, 0)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stream.Close() })
		if !stream.Receive() {
			t.Fatal(stream.Err())
		}
	}
	stored := make(chan error, 1)
	second := long
	second.End = second.Start
	go func() { stored <- r.comp.takeFlows(t.Context(), message(t, batch("meanwhile", second))) }()
	if err := await.Value(t, "a batch is stored while readers are slow", stored); err != nil {
		t.Fatal(err)
	}
}
