package faults

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit/faults"
	"github.com/millrace/millrace/internal/testkit/program"
)

const oneProcess = `
data_dir: %[1]s/data
inventory: inventory.yaml
dashboard: {listen: "%[2]s:8080"}
identity: {mode: off} # what is tried here is memory
flow: {listen: ["%[2]s:2055"], exporters: {accept_unlisted: true}}
alpha: {nightly_at: ""}
`

// TestMemoryIsBoundedWhileTheStoreIsAway (review B1): flows arrive as fast as they can be sent while the disk under the
// flow store is full, until the bus and the collector take no more, and then as many again. What waits has a bound by
// then, so a longer outage changes nothing.
func TestMemoryIsBoundedWhileTheStoreIsAway(t *testing.T) {
	program.NeedLibrary(t)
	dir, host := t.TempDir(), program.OwnHost()
	disk := faults.NewDisk(t, filepath.Join(dir, "data", "clickhouse"), 256<<20)
	for file, text := range map[string]string{"millrace.yaml": fmt.Sprintf(oneProcess, dir, host), "inventory.yaml": "devices: []\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url := "http://" + host + ":8080"
	up := program.Start(t, dir, "up", program.Path, "up", "--config", filepath.Join(dir, "millrace.yaml"))
	t.Cleanup(func() { up.Signal(t, syscall.SIGKILL) })
	up.WaitReady(t, url)
	disk.Fill(t)
	socket, err := net.Dial("udp", host+":2055")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	sent := 0
	burst := func() {
		for range 2000 {
			sent += 30
			_, _ = socket.Write(datagram(uint32(sent))) // one that finds no room is lost, as on a network
		}
	}
	var found map[string]float64
	taken := -1.0
	program.Until(t, "neither bus nor collector takes more flows", func() (bool, any) {
		burst()
		found = metrics(t, url)
		held, before := sum(found, "millrace_internal_bus_held_bytes"), taken
		taken = sum(found, "millrace_collectors_flow_records_total")
		return held > 60<<20 && taken == before, []float64{held, taken}
	})
	for again := sent; again > 0; again -= 60_000 {
		burst()
	}
	found = metrics(t, url)
	used, limit := found["go_memstats_sys_bytes"]-found["go_memstats_heap_released_bytes"], found["go_gc_gomemlimit_bytes"]
	t.Logf("%d records sent; Go has %.0f MiB of at most %.0f", sent, used/(1<<20), limit/(1<<20))
	if limit > 4<<30 || used > limit {
		t.Errorf("Go has %.0f octets, and its limit is %.0f", used, limit)
	}
}

// datagram is NetFlow v5 with 30 records of one second ago.
func datagram(sequence uint32) []byte {
	const upFor = 3_600_000
	be, now := binary.BigEndian, time.Now()
	b := be.AppendUint16(nil, 5)
	b = be.AppendUint16(b, 30)
	b = be.AppendUint32(b, upFor)
	b = be.AppendUint32(b, uint32(now.Unix()))
	b = be.AppendUint32(b, uint32(now.Nanosecond()))
	b = be.AppendUint32(b, sequence)
	b = append(b, 0, 0, 1<<6, 1) // one packet in one
	for n := range uint32(30) {
		b = be.AppendUint32(b, 0xc0000200+n) // source
		b = be.AppendUint32(b, 0xc6336400+n)
		b = append(b, 0, 0, 0, 0, 0, 3, 0, 4) // next hop, interfaces
		b = be.AppendUint32(b, 10)
		b = be.AppendUint32(b, 15_000+sequence)
		b = be.AppendUint32(b, upFor-2000)
		b = be.AppendUint32(b, upFor-1000)
		b = be.AppendUint32(b, 40_000<<16+sequence%60_000)
		b = append(b, 0, 0x1b, 6, 0, 0, 0, 0, 0, 24, 24, 0, 0)
	}
	return b
}

// sum is that of a metric over its labels.
func sum(found map[string]float64, metric string) (total float64) {
	for name, value := range found {
		if of, _, _ := strings.Cut(name, "{"); of == metric {
			total += value
		}
	}
	return total
}

// metrics are those that a process shows now, each with its labels.
func metrics(t *testing.T, url string) map[string]float64 {
	t.Helper()
	answer, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		name, value := line, ""
		if at := strings.LastIndexByte(line, ' '); at > 0 { // a label may have a space
			name, value = line[:at], line[at+1:]
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = f
		}
	}
	return out
}
