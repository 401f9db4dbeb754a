package main

import (
	"strings"
	"testing"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// TestDropsNameTheExportersTheyCanHaveBeenOf: those of the worker that was behind, and senders that are not listed.
func TestDropsNameTheExportersTheyCanHaveBeenOf(t *testing.T) {
	socket := func(worker uint32, drops uint64) *flowv1.CollectorSocket {
		return &flowv1.CollectorSocket{Listen: "192.0.2.50:2055", Worker: worker, Datagrams: 90, Drops: drops}
	}
	exporters := []*flowv1.ExporterQuality{
		{Exporter: "0.0.0.0"}, {Exporter: "192.0.2.1", Worker: 1}, {Exporter: "192.0.2.1", ObservationDomain: 7, Worker: 1}, {Exporter: "192.0.2.2"}, {Exporter: "192.0.2.3", Worker: 1},
	}
	const total = "datagrams dropped by the kernel for want of buffer: 10\n"
	for name, c := range map[string]struct {
		sockets []*flowv1.CollectorSocket
		want    string
	}{
		"several workers": {
			[]*flowv1.CollectorSocket{socket(0, 0), socket(1, 10)},
			total + "  10 at worker 1 of 192.0.2.50:2055, beside 90 that it took; exporters of that worker: 0.0.0.0, 192.0.2.1, 192.0.2.3\n",
		},
		"one worker":           {[]*flowv1.CollectorSocket{socket(0, 10)}, total},
		"an earlier collector": {nil, total},
	} {
		var out strings.Builder
		if err := printQuality(&out, &flowv1.QualityResponse{Exporters: exporters, SocketDrops: 10, Sockets: c.sockets}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), c.want) {
			t.Errorf("%s: output is\n%s\nwant at its end\n%s", name, out.String(), c.want)
		}
	}
}
