package flow

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/await"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

func fireflyAt(state string, start time.Time, rest string) string {
	return fmt.Sprintf(`<134>1 %[1]s host flowd - firefly-json - {"version": 1, "flow-lifecycle": {"state": %[2]q, "start-time": %[1]q%[3]s},
		"flow-id": {"afi": "ipv6", "src-ip": "2001:db8::1", "dst-ip": "2001:db8:1::2", "protocol": "tcp", "src-port": 1094, "dst-port": 40000},
		"context": {"experiment-id": 2, "activity-id": 16, "application": "xrootd"}}`, start.Format(time.RFC3339Nano), state, rest)
}

// TestFirefliesBecomeTags: each is on the bus once, with what it says; what is none is counted by why.
func TestFirefliesBecomeTags(t *testing.T) {
	memory := bus.NewMemory()
	defer memory.Close()
	tags := make(chan *flowv1.FlowTag, 100)
	if err := memory.Subscribe(t.Context(), bus.TopicFlows, bus.Keepers[bus.TopicFlows], func(_ context.Context, m bus.Message) error {
		b, err := flowrecord.DecodeBatch(m.Value)
		if len(b.Tags) > 0 && m.Key != "127.0.0.1" || b.Block.Rows() > 0 {
			t.Errorf("key %q with %d tags and %d records", m.Key, len(b.Tags), b.Block.Rows())
		}
		for _, tag := range b.Tags {
			tags <- tag
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfiguration()
	cfg.Listen, cfg.State = nil, ""
	cfg.Fireflies = FireflyConfiguration{Listen: []string{"127.0.0.1:0"}, Sources: []string{"127.0.0.1/32"}}
	c, err := New(cfg, Dependencies{Bus: memory, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	send := sender(t, "127.0.0.1", c.fireflies.sockets[0].address().String())

	began := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	send(fireflyAt("start", began, ""))
	send(fireflyAt("end", began, fmt.Sprintf(`, "end-time": %q`, began.Add(time.Second).Format(time.RFC3339Nano))))
	want := &flowv1.FlowTag{
		SrcAddr: net.ParseIP("2001:db8::1"), DstAddr: net.ParseIP("2001:db8:1::2"), SrcPort: 1094, DstPort: 40000, Protocol: 6,
		Start: timestamppb.New(began), Until: timestamppb.New(began), Community: 2, Activity: 16, Application: "xrootd", Reporter: []byte{127, 0, 0, 1},
	}
	for _, ended := range []bool{false, true} {
		if ended {
			want.Ended, want.Until = true, timestamppb.New(began.Add(time.Second))
		}
		if diff := cmp.Diff(await.Value(t, "a tag", tags), want, protocmp.Transform()); diff != "" {
			t.Errorf("-got +want\n%s", diff)
		}
	}

	sender(t, "127.0.0.2", c.fireflies.sockets[0].address().String())(fireflyAt("start", began, ""))
	send("hello")
	send(strings.Replace(fireflyAt("start", began, ""), "tcp", "gre", 1))
	send(strings.Replace(fireflyAt("start", began, ""), `"experiment-id": 2`, `"experiment-id": 3333`, 1))
	send(fireflyAt("start", began.Add(-8*24*time.Hour), ""))
	send(fireflyAt("start", began.Add(2*time.Hour), ""))
	send(strings.Replace(fireflyAt("ongoing", began, ""), "start-time", "current-time", 1))
	for reason, n := range map[string]float64{"unlisted": 1, "malformed": 1, "not_a_flow": 1, "no_tag": 1, "time_out_of_range": 2, "no_start": 1} {
		await.True(t, reason, func() bool {
			return testutil.ToFloat64(c.metrics.fireflyDrops.WithLabelValues(reason)) == n
		})
	}
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if n := testutil.ToFloat64(c.metrics.fireflies); n != 2 || len(tags) > 0 {
		t.Errorf("%v fireflies were given to the bus, and %d came beside those of this test", n, len(tags))
	}
}

// sender sends datagrams from an address of this host.
func sender(t *testing.T, from, to string) func(string) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(t.Context(), "udp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return func(s string) {
		t.Helper()
		if _, err := conn.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFireflyConfigurations(t *testing.T) {
	for want, f := range map[string]FireflyConfiguration{
		"sources has no network": {Listen: []string{"127.0.0.1:10514"}},
		"want a network":         {Listen: []string{"127.0.0.1:10514"}, Sources: []string{"192.0.2.1/24"}},
		"want an IP address":     {Listen: []string{"localhost:10514"}, Sources: []string{"192.0.2.0/24"}},
		"is there twice":         {Listen: []string{"127.0.0.1:2055"}, Sources: []string{"192.0.2.0/24"}}, // as flow.listen
	} {
		cfg := DefaultConfiguration()
		cfg.Fireflies = f
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", f, err, want)
		}
	}
}
