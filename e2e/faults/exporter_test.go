package faults

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/vishvananda/netlink"

	"github.com/millrace/millrace/e2e/plane"
	"github.com/millrace/millrace/internal/testkit/program"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// restartingExporter is a router that exports NetFlow v9 to the collector and starts anew, with its template's number
// for another order of fields: read by the former template, its records would be flows that never were.
type restartingExporter struct {
	w      *workWorld
	socket *net.UDPConn
	fields []field
	// starts are how often it has started, boot when last.
	starts   int
	boot     time.Time
	sequence uint32
	// before is what the collector has counted of this exporter so far.
	before *flowv1.ExporterQuality
}

// exporterAddress is the other one of WR's. It is an address of the run's own network, so that datagrams come from it.
var exporterAddress = netip.MustParseAddr("192.0.2.11")

// field of a record: its type in RFC 3954, section 8, and its value.
type field struct {
	kind uint16
	of   func(r v9Record) []byte
}

// v9Record is one flow as NetFlow v9 has it; times are milliseconds since the router's start.
type v9Record struct {
	n           int
	octets      uint32
	first, last uint32
}

func be32(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// fields of the former template; those of the later one are the same, the last first.
var fields = []field{
	{8, func(r v9Record) []byte { return []byte{10, 1, 1, byte(r.n)} }},
	{12, func(r v9Record) []byte { return []byte{10, 2, 1, byte(r.n)} }},
	{1, func(r v9Record) []byte { return be32(r.octets) }},
	{2, func(r v9Record) []byte { return be32(r.octets/1000 + 1) }},
	{22, func(r v9Record) []byte { return be32(r.first) }},
	{21, func(r v9Record) []byte { return be32(r.last) }},
}

func backwards(of []field) (out []field) {
	for _, f := range of {
		out = append([]field{f}, out...)
	}
	return out
}

// restarting is the exporter that restarts.
var restarting = &restartingExporter{}

// exporterRestart is what it does. What it sends before the template is lost, and counted as that.
var exporterRestart = plane.Fault{
	Name: "an exporter restarts with other templates",
	Prepare: func(t *testing.T, _ *plane.Plane) {
		x := restarting
		x.start(t, fields)
		x.template(t)
		x.records(t, 2*perDatagram)
		x.w.AllStored(t)
		x.before = x.counted(t)
	},
	Strike: func(t *testing.T, _ *plane.Plane) {
		x := restarting
		x.records(t, perDatagram) // on their way when it ends
		x.start(t, backwards(fields))
		for range early {
			x.data(t)
		}
		x.template(t)
		x.records(t, 3*perDatagram)
	},
	Heal: func(t *testing.T, _ *plane.Plane) { restarting.told(t, early, 4*perDatagram) },
}

// early datagrams come before their template.
const early = 3

const (
	perDatagram = 10
	templateID  = 256
)

// start starts the exporter, which had another start before.
func (x *restartingExporter) start(t *testing.T, fields []field) {
	t.Helper()
	if x.socket == nil {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.AddrReplace(lo, &netlink.Addr{IPNet: &net.IPNet{IP: exporterAddress.AsSlice(), Mask: net.CIDRMask(32, 32)}}); err != nil {
			t.Fatal(err)
		}
		to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(x.w.Host), 2055))
		if x.socket, err = net.DialUDP("udp", &net.UDPAddr{IP: exporterAddress.AsSlice()}, to); err != nil {
			t.Fatal(err)
		}
	}
	up := time.Hour - time.Duration(x.starts)*10*time.Minute // so that it tells a later start each time
	x.fields, x.boot, x.sequence, x.starts = fields, time.Now().Add(-up), 0, x.starts+1
}

// send sends a flow set (RFC 3954, section 5).
func (x *restartingExporter) send(t *testing.T, id uint16, records int, body []byte) {
	t.Helper()
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	now, be := time.Now(), binary.BigEndian
	b := be.AppendUint16(nil, 9)
	b = be.AppendUint16(b, uint16(records))
	b = be.AppendUint32(b, uint32(now.Sub(x.boot).Milliseconds()))
	b = be.AppendUint32(b, uint32(now.Unix()))
	b = be.AppendUint32(b, x.sequence)
	b = be.AppendUint32(b, 0) // source
	b = be.AppendUint16(b, id)
	b = be.AppendUint16(b, uint16(4+len(body)))
	x.sequence++
	if _, err := x.socket.Write(append(b, body...)); err != nil {
		t.Fatal(err)
	}
}

func (x *restartingExporter) template(t *testing.T) {
	t.Helper()
	body := binary.BigEndian.AppendUint16(nil, templateID)
	body = binary.BigEndian.AppendUint16(body, uint16(len(x.fields)))
	for _, f := range x.fields {
		body = binary.BigEndian.AppendUint16(body, f.kind)
		body = binary.BigEndian.AppendUint16(body, 4)
	}
	x.send(t, 0, 1, body)
}

// records sends flows that the store has to count.
func (x *restartingExporter) records(t *testing.T, n int) {
	t.Helper()
	for range n / perDatagram {
		x.data(t)
		for range perDatagram {
			x.w.Taken = append(x.w.Taken, plane.Small)
		}
	}
}

func (x *restartingExporter) data(t *testing.T) {
	t.Helper()
	var body []byte
	now := uint32(time.Since(x.boot).Milliseconds())
	for n := range perDatagram {
		r := v9Record{n: n + 1, octets: uint32(plane.Small), first: now - 20_000, last: now - 10_000}
		for _, f := range x.fields {
			body = append(body, f.of(r)...)
		}
	}
	x.send(t, templateID, perDatagram, body)
}

// counted is what the collector has counted of the exporter.
func (x *restartingExporter) counted(t *testing.T) *flowv1.ExporterQuality {
	t.Helper()
	answer, err := x.w.Files.Quality(t.Context(), connect.NewRequest(&flowv1.QualityRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range answer.Msg.GetExporters() {
		if q.GetExporter() == exporterAddress.String() {
			return q
		}
	}
	return &flowv1.ExporterQuality{}
}

// told wants the quality to have the restart, what came without a template, and every record, none of them lost.
func (x *restartingExporter) told(t *testing.T, early, records int) {
	t.Helper()
	seen := func(q *flowv1.ExporterQuality) string {
		return fmt.Sprint("restarts ", q.GetEvents()["restart"], ", sets without template ", q.GetDrops()["no_template"], ", records ", q.GetRecords(), ", lost ", q.GetLost())
	}
	want := &flowv1.ExporterQuality{
		Events: map[string]uint64{"restart": x.before.GetEvents()["restart"] + 1}, Drops: map[string]uint64{"no_template": x.before.GetDrops()["no_template"] + uint64(early)},
		Records: x.before.GetRecords() + uint64(records), Lost: x.before.GetLost(),
	}
	program.Until(t, "the quality has the restart: "+seen(want), func() (bool, any) {
		q := x.counted(t)
		return seen(q) == seen(want), seen(q)
	})
}

// streaming is an exporter's stream, which goes on by itself.
func streaming(*testing.T, *workWorld, int) (release func(), done func(*testing.T, bool)) {
	return func() {}, func(t *testing.T, _ bool) {}
}
