package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/await"
	"github.com/millrace/millrace/internal/testkit/netorder"
)

// netflow9 is a datagram that an exporter sends which started an hour ago.
func netflow9(sequence uint32, sets ...[]byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, 9)
	b = binary.BigEndian.AppendUint16(b, uint16(len(sets)))
	for _, n := range []uint32{3_600_000, uint32(time.Now().Unix()), sequence, 1} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, s := range sets {
		b = append(b, s...)
	}
	return b
}

var words = netorder.U16

var (
	v9Template = words(0, 20, 256, 3, 8, 4, 12, 4, 1, 4) // source, destination, bytes
	v9Record   = words(256, 16, 0x0a00, 1, 0x0a00, 2, 0, 1500)
)

// TestTemplatesOutliveTheCollector: an exporter's socket goes on sending data, and a new collector on the same port
// reads it.
func TestTemplatesOutliveTheCollector(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flow", "exporters.json")
	var listen string
	keep := func(c *Configuration) {
		c.State = file
		if listen != "" {
			c.Listen = []string{listen}
		}
	}
	first := newRig(t, keep)
	conn := first.dial(0)
	write := func(conn net.Conn, d []byte) {
		t.Helper()
		if _, err := conn.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	write(conn, netflow9(1, v9Template, v9Record))
	first.records(1)
	listen = first.comp.Listening()[0].String()
	if err := first.comp.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	second := newRig(t, keep)
	write(conn, netflow9(7, v9Record))
	if got := second.records(1)[0]; got.Bytes != 1500 {
		t.Errorf("record is %+v, want one of 1500 bytes", got)
	}
	if err := second.comp.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(file, []byte(`{"sessions":[{"from":`), 0o600); err != nil {
		t.Fatal(err)
	}
	third := newRig(t, keep)
	write(conn, netflow9(8, v9Record))
	await.True(t, "the record has no template", func() bool {
		all := third.quality().GetExporters()
		return len(all) == 1 && all[0].GetDrops()["no_template"] == 1
	})
	if _, err := os.Stat(file + ".unreadable"); err != nil {
		t.Errorf("a file that is cut off is not kept for its reader: %v", err)
	}
}

// A file of a newer collector is kept for that one, and one from before forms were counted is taken over.
func TestStatesOfOtherCollectors(t *testing.T) {
	at := time.Now().UTC().Format(time.RFC3339)
	session := `"sessions":[{"from":"127.0.0.1:7","source":1,"domain":0,"last_seen":"` + at + `","boot":"` + at + `","v5_rate":100}]}`
	for text, want := range map[string]int{`{` + session: 1, `{"form":1,` + session: 1, `{"form":2,` + session: 0} {
		file := filepath.Join(t.TempDir(), "flow.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, func(c *Configuration) { c.State = file })
		if got := len(r.comp.table.State().Sessions); got != want {
			t.Errorf("%s: %d sessions, want %d", text, got, want)
		}
		aside, err := os.ReadFile(file + ".unreadable")
		if want == 0 && string(aside) != text || want == 1 && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: set aside is %q, %v", text, aside, err)
		}
	}
}

// TestAStateThatCannotBeWritten keeps no collector from its work.
func TestAStateThatCannotBeWritten(t *testing.T) {
	occupied := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(occupied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(c *Configuration) { c.State = filepath.Join(occupied, "exporters.json") })
	if _, err := r.dial(0).Write(netflow9(1, v9Template, v9Record)); err != nil {
		t.Fatal(err)
	}
	r.records(1)
	if err := r.comp.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}
