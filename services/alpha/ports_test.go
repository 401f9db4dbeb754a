package alpha

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// A queue may be full without a drop; what a few packets take is not worth a word.
func TestAnAlarmNamesQueuesInWhichPacketsWait(t *testing.T) {
	const queue = "/qos/interfaces/interface[interface-id=ge-er]/output/queues/queue[name=%s]/state/%s"
	var series []*flowv1.TelemetrySeries
	for name, octets := range map[string]uint64{"te-beta": 98_000, "te-alpha": 4_000, "te-voice": 0} {
		series = append(series, counterOf(fmt.Sprintf(queue, name, "transmit-octets"), 0, 6e7), counterOf(fmt.Sprintf(queue, name, "avg-queue-len"), octets, octets))
	}
	series = append(series, counterOf(fmt.Sprintf(queue, "te-silent", "avg-queue-len"), 500, 500), counterOf("/interfaces/interface[name=ge-er]/state/counters/out-octets", 0, 60e7))
	m := &alphav1.AlphaNow{Router: "wr", Ports: portsOf("wr", series)}
	if got, want := beside(m), "No port of wr drops; ge-er sends most, 80 Mbit/s; by queue: te-beta packets wait 98 ms."; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	want := "wr ge-er: 80 Mbit/s, 0.0 drops/s\nwr ge-er te-alpha: 8 Mbit/s, 0.0 drops/s, 4 ms\nwr ge-er te-beta: 8 Mbit/s, 0.0 drops/s, 98 ms\n" +
		"wr ge-er te-silent: 0 bit/s, 0.0 drops/s\nwr ge-er te-voice: 8 Mbit/s, 0.0 drops/s, 0 ms"
	if got := portLines(m.GetPorts()); got != want {
		t.Errorf("lines %q, want %q", got, want)
	}
}

// counterOf read twice, a minute apart.
func counterOf(path string, from, to uint64) *flowv1.TelemetrySeries {
	return &flowv1.TelemetrySeries{Device: "wr", Path: path, Points: []*flowv1.TelemetryPoint{
		{Time: timestamppb.New(noon), Value: from}, {Time: timestamppb.New(noon.Add(time.Minute)), Value: to},
	}}
}
