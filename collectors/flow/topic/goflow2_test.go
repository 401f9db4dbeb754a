package topic

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/netsampler/goflow2/v2/decoders/netflow"
	"github.com/netsampler/goflow2/v2/decoders/netflowlegacy"
	"github.com/netsampler/goflow2/v2/decoders/sflow"
	"github.com/netsampler/goflow2/v2/producer"
	protoproducer "github.com/netsampler/goflow2/v2/producer/proto"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/flowrecord"
	"github.com/millrace/millrace/internal/testkit/netorder"
)

var router = netip.MustParseAddrPort("192.0.2.7:4000")

// sessions are the datagrams of collectors/flow/decode's captures, each of one exporter.
func sessions(t *testing.T) map[string][][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "decode", "testdata", "*", "*.bin"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	all := map[string][][]byte{}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(p)[:strings.LastIndex(filepath.Base(p), "-")]
		all[name] = append(all[name], raw)
	}
	return all
}

// forwarder is goflow2, as `goflow2 -format=bin` turns datagrams into messages.
type forwarder struct {
	templates netflow.NetFlowTemplateSystem
	producer  producer.ProducerInterface
}

func newForwarder(t *testing.T) *forwarder {
	t.Helper()
	cfg, err := (&protoproducer.ProducerConfig{}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	p, err := protoproducer.CreateProtoProducer(cfg, protoproducer.CreateSamplingSystem)
	if err != nil {
		t.Fatal(err)
	}
	return &forwarder{netflow.CreateTemplateSystem(), p}
}

// messages are those of a datagram.
func (f *forwarder) messages(t *testing.T, datagram []byte, at time.Time) (out [][]byte) {
	t.Helper()
	var packet any
	var err error
	body := bytes.NewBuffer(datagram[2:])
	switch version := binary.BigEndian.Uint16(datagram); version {
	case 0: // sFlow's version has 32 bits
		sample := &sflow.Packet{}
		packet, err = sample, sflow.DecodeMessageVersion(bytes.NewBuffer(datagram), sample)
	case 5:
		v5 := &netflowlegacy.PacketNetFlowV5{Version: version}
		packet, err = v5, netflowlegacy.DecodeMessage(body, v5)
	case 9:
		v9 := &netflow.NFv9Packet{Version: version}
		packet, err = v9, netflow.DecodeMessageNetFlow(body, f.templates, v9)
	default:
		ipfix := &netflow.IPFIXPacket{Version: version}
		packet, err = ipfix, netflow.DecodeMessageIPFIX(body, f.templates, ipfix)
	}
	if err != nil {
		return nil
	}
	messages, err := f.producer.Produce(packet, &producer.ProduceArgs{Src: router, TimeReceived: at, SamplerAddress: router.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		raw, err := m.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, raw)
	}
	return out
}

// TestTheSameDatagramOverGoflow2 compares what the collector makes of a datagram with what it makes of goflow2's
// messages about it.
func TestTheSameDatagramOverGoflow2(t *testing.T) {
	captures, at := sessions(t), time.Now().Truncate(time.Second)
	for name, datagrams := range map[string][][]byte{
		"NetFlow v5, softflowd": captures["5-s1"], "NetFlow v5, sampled": captures["5-s100"],
		"NetFlow v9, Cisco ACI": captures["cisco-aci"], "NetFlow v9, Palo Alto": captures["paloalto-81"],
		"NetFlow v9": made(rand.New(rand.NewPCG(1, 9)), 9, at), "IPFIX": made(rand.New(rand.NewPCG(1, 10)), 10, at),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := exporter.DefaultConfiguration()
			cfg.MaxAge = 100 * 365 * 24 * time.Hour // the captures grow old
			table, goflow2 := exporter.NewTable(cfg, nil, 1), newForwarder(t)
			var ours, theirs []flowrecord.Record
			for _, datagram := range datagrams {
				ours = table.Take([]exporter.Datagram{{From: router, Payload: datagram}}, at, ours)
				for _, m := range goflow2.messages(t, datagram, at) {
					r, reason := decoded(t, "goflow2", m)
					if reason == "" {
						reason = table.Forward(&r, at, cfg.MaxAge)
					}
					if reason != "" {
						t.Fatalf("a message is dropped: %s", reason)
					}
					theirs = append(theirs, r)
				}
			}
			if d := cmp.Diff(ours, theirs, cmpopts.EquateComparable(netip.Addr{})); d != "" || len(ours) == 0 {
				t.Errorf("%d records and %d over goflow2 (-ours +theirs):\n%s", len(ours), len(theirs), d)
			}
		})
	}
}

// TestTheSamePacketOverGoflow2 is a packet that sFlow sampled, of which goflow2 counts the frame.
func TestTheSamePacketOverGoflow2(t *testing.T) {
	at := time.Now()
	header := append(make([]byte, 12), 8, 0, 0x45, 0x28)
	header = append(header, words(1500, 0, 0, 64<<8|6, 0)...)
	header = append(append(header, numbers(0x0a000001, 0x0a000002)...), words(40000, 443, 0, 0, 0, 0, 0x5018, 100, 0, 0)...)
	header = append(header, make([]byte, -len(header)&3)...)
	record := append(numbers(1, 1518, 4, uint32(len(header))), header...)
	sample := append(numbers(1, 2, 512, 1000, 0, 3, 4, 1, 1, uint32(len(record))), record...)
	datagram := append(numbers(5, 1, 0xc0000207, 0, 77, 10_000, 1, 1, uint32(len(sample))), sample...)
	table := exporter.NewTable(exporter.DefaultConfiguration(), nil, 1)
	ours, theirs := table.Take([]exporter.Datagram{{From: router, Payload: datagram}}, at, nil), newForwarder(t).messages(t, datagram, at)
	if len(ours) != 1 || len(theirs) != 1 {
		t.Fatalf("%d records and %d messages, want one each", len(ours), len(theirs))
	}
	want := ours[0]
	want.Bytes, want.Start, want.End = 1518, at.Round(0).UTC(), at.Round(0).UTC()
	got, reason := decoded(t, "goflow2", theirs[0])
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); d != "" || reason != "" {
		t.Errorf("%s (-ours, but for the bytes, +theirs):\n%s", reason, d)
	}
}

func decoded(t *testing.T, schema string, message []byte) (r flowrecord.Record, reason decode.Reason) {
	t.Helper()
	s, err := SchemaOf(schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	reason = s.Decode(message, &r)
	return r, reason
}

// madeFields are the elements of a made record, and their lengths: addresses of IPv4 come before.
var madeFields = []struct{ id, length uint16 }{
	{7, 2}, {11, 2}, {4, 1}, {5, 1}, {6, 1}, {10, 4}, {14, 4}, {1, 8}, {2, 8},
}

// made is a datagram with a sampling rate, and some with records of random values, of NetFlow v9 or IPFIX.
func made(rng *rand.Rand, version uint16, at time.Time) (out [][]byte) {
	const uptime = 1_000_000
	times := []struct{ id, length uint16 }{{22, 4}, {21, 4}}
	template, options := uint16(0), uint16(1)
	if version == 10 {
		times = []struct{ id, length uint16 }{{152, 8}, {153, 8}}
		template, options = 2, 3
	}
	datagram := func(sequence uint32, sets ...[]byte) {
		body := bytes.Join(sets, nil)
		head := words(version, uint16(len(sets)))
		if version == 9 {
			head = append(head, numbers(uptime, uint32(at.Unix()), sequence, 42)...)
		} else {
			head = append(words(version, uint16(16+len(body))), numbers(uint32(at.Unix()), sequence, 42)...)
		}
		out = append(out, append(head, body...))
	}
	set := func(id uint16, body []byte) []byte {
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
		return append(words(id, uint16(4+len(body))), body...)
	}
	scope := words(300, 4, 4, 1, 4, 34, 4) // v9: lengths of scopes and options
	if version == 10 {
		scope = words(300, 2, 1, 149, 4, 34, 4)
	}
	datagram(0, set(options, scope), set(300, numbers(42, 512)))
	for i, family := range []struct{ id, src, dst, length uint16 }{{256, 8, 12, 4}, {257, 27, 28, 16}} {
		fields := append([]struct{ id, length uint16 }{{family.src, family.length}, {family.dst, family.length}}, append(madeFields, times...)...)
		layout, records := words(family.id, uint16(len(fields))), []byte(nil)
		for _, f := range fields {
			layout = append(layout, words(f.id, f.length)...)
		}
		for range 20 {
			for _, f := range fields {
				value := make([]byte, f.length)
				for i := range value {
					value[i] = byte(rng.Uint32())
				}
				switch f.id {
				case 1, 2: // of some size, and never 0
					copy(value, []byte{0, 0, 0, 0, 0, 1})
				case 21, 22:
					binary.BigEndian.PutUint32(value, uptime-rng.Uint32N(1000)-uint32(f.id-21)*1000) // 22 is the start
				case 152, 153:
					binary.BigEndian.PutUint64(value, uint64(at.UnixMilli())-uint64(153-f.id)*5000)
				}
				records = append(records, value...)
			}
		}
		datagram(uint32(i+1), set(template, layout), set(family.id, records))
	}
	return out
}

var words, numbers = netorder.U16, netorder.U32
