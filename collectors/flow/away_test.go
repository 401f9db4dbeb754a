package flow

import (
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/bus"
)

// A topic that cannot be read is no silent network: what waits there is of hours to which nobody has listened.
func TestAnHourWithoutATopicWasNotListenedTo(t *testing.T) {
	dead, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}) // it answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	cfg := DefaultConfiguration()
	cfg.Listen, cfg.Topics = nil, []TopicConfiguration{{Topic: "flows", Schema: "goflow2"}}
	c, err := New(cfg, Dependencies{Bus: bus.NewMemory(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Kafka: func([]string) (bus.KafkaConfiguration, error) {
		k := bus.DefaultKafkaConfiguration()
		k.Brokers = []string{dead.Addr().String()}
		return k, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if got := c.hours(now); len(got) != 0 {
		t.Errorf("hours that count as listened to while the topic is away: %+v", got)
	}
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.own.count(now, 3, 1) // by a socket beside the topic
	if got := c.hours(now); len(got) != 0 {
		t.Errorf("hours that count as listened to while one of two ways is away: %+v", got)
	}
	c.sources = nil
	if got := c.hours(now); len(got) != 1 || got[0].Datagrams != 3 || got[0].SocketDrops != 1 || !got[0].Exporter.IsUnspecified() {
		t.Errorf("hours once nothing is away: %+v, want what the socket counted", got)
	}
}
