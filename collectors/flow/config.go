package flow

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"
	"unsafe"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/collectors/flow/topic"
	"github.com/millrace/millrace/internal/flowrecord"
)

// Configuration of the collector.
type Configuration struct {
	// Listen are the UDP addresses, host:port, on which exporters' datagrams arrive. NetFlow has no authentication:
	// bind to a management address only. Default [127.0.0.1:2055], which no other host reaches; the package's and the
	// image's millrace.yaml have [::]:2055.
	Listen []string `yaml:"listen"`
	// ReceiveBuffer is the kernel's buffer per socket, bytes, of which it takes twice as much memory. Beyond
	// net.core.rmem_max it needs CAP_NET_ADMIN. Default 64 MiB.
	ReceiveBuffer int `yaml:"receive_buffer"`
	// Workers read each listening address, with a socket each: an exporter's datagrams all come to the same one. No
	// more than there are processors. Default 1, which takes a million flows a second of one exporter.
	Workers int `yaml:"workers"`
	// BatchRecords ends a batch of one exporter. Large batches make for few large inserts into the flow store, which
	// cost half as much as small ones; 32,768 records are 3.6 MB on the bus, before Kafka compresses them. Default
	// 32768.
	BatchRecords int `yaml:"batch_records"`
	// BatchInterval is how long a record waits for more of its exporter. Default 500ms.
	BatchInterval time.Duration `yaml:"batch_interval"`
	// ImportMaxAge is how long ago an imported record may have started: no longer than the flow store keeps it.
	// Default 2160h, 90 days.
	ImportMaxAge time.Duration `yaml:"import_max_age"`
	// State is the file that keeps what exporters told, templates and sampling rates, over a restart, relative to this
	// file. Default <data_dir>/flow/exporters.json; empty keeps nothing.
	State string `yaml:"state"`
	// Topics of Kafka that are read beside the listening addresses. Default none.
	Topics []TopicConfiguration `yaml:"topics"`
	// Fireflies tell whose transfers are and what for.
	Fireflies FireflyConfiguration `yaml:"fireflies"`
	// Exporters is what to expect of them.
	Exporters exporter.Configuration `yaml:"exporters"`
}

// RelativeTo resolves the state's file against the folder of the configuration file.
func (c *Configuration) RelativeTo(folder string) {
	if c.State != "" && !filepath.IsAbs(c.State) {
		c.State = filepath.Join(folder, c.State)
	}
}

// DefaultConfiguration listens on the loopback.
func DefaultConfiguration() Configuration {
	return Configuration{
		Listen:        []string{"127.0.0.1:2055"},
		ReceiveBuffer: 64 << 20,
		Workers:       1,
		BatchRecords:  32768,
		BatchInterval: 500 * time.Millisecond,
		ImportMaxAge:  90 * 24 * time.Hour,
		Exporters:     exporter.DefaultConfiguration(),
	}
}

// Memory is how much a collector holds at most, in octets: records that wait for the bus, in slices that grow to twice
// what they need, a read of each socket, and what is remembered of exporters. The first socket's datagrams are in what
// an idle process has.
func (c Configuration) Memory() int64 {
	more := int64(max(0, len(c.Listen)*c.Workers-1) + len(c.Fireflies.Listen))
	topics := int64(len(c.Topics)) * (topic.Memory(c.BatchRecords) + recordsMemory(c.BatchRecords))
	return recordsMemory(maxHeld+readRecords) + more*(recordsMemory(readRecords)+readBatch*maxDatagram) + topics + c.Exporters.Memory()
}

func recordsMemory(n int) int64 { return 2 * int64(n) * int64(unsafe.Sizeof(flowrecord.Record{})) }

// readRecords is about how many records of a socket are taken at a time.
const readRecords = 10_000

// smallestFlow is what a flow takes of a datagram at least: half of a biflow that has two addresses of IPv4 and an
// octet for each direction's bytes.
const smallestFlow = 5

// maxWorkers bounds memory: each has a receive buffer of its own in the kernel.
const maxWorkers = 64

// minTemplateMemory holds the largest set of templates that one session may have, 512 of 256 fields, with room beside
// it.
const minTemplateMemory = 4 << 20

const (
	// maxBatchRecords are below bus.MaxMessage, with room for what there is to say of hours.
	maxBatchRecords = 36_000
	// maxImportRecords is what Import takes at most in one message.
	maxImportRecords = 10_000
)

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	if err := checkTopics(c.Topics); err != nil {
		return err
	}
	if err := c.Fireflies.Validate(); err != nil {
		return err
	}
	seen := map[netip.AddrPort]bool{} // with port 0 as well: the metrics' label `listen` has addresses as configured
	for _, l := range slices.Concat(c.Listen, c.Fireflies.Listen) {
		a, err := netip.ParseAddrPort(l)
		if err != nil {
			return fmt.Errorf("listen address %q: want an IP address and a port, such as 127.0.0.1:2055 or [::1]:2055", l)
		}
		a = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
		if seen[a] {
			return fmt.Errorf("listen address %q is there twice; want it once, also with port 0: `workers` gives an address several sockets", l)
		}
		seen[a] = true
	}
	switch {
	case c.Workers < 1 || c.Workers > maxWorkers:
		return fmt.Errorf("workers is %d; want 1 to %d, no more than there are processors", c.Workers, maxWorkers)
	case c.BatchRecords < 1 || c.BatchRecords > maxBatchRecords:
		return fmt.Errorf("batch records is %d; want 1 to %d", c.BatchRecords, maxBatchRecords)
	case c.BatchInterval <= 0:
		return errors.New("batch interval must be positive")
	case c.Exporters.MaxSessions < 1:
		return errors.New("max sessions must be at least 1")
	case c.Exporters.TemplateMemory < minTemplateMemory:
		return fmt.Errorf("template memory is %d bytes; want at least %d: a few dozen templates for each of a few exporters", c.Exporters.TemplateMemory, minTemplateMemory)
	case c.Exporters.TemplateLifetime <= 0:
		return errors.New("template lifetime must be positive: at least three times the exporters' template refresh timeout")
	case c.Exporters.MaxAge <= 0 || c.Exporters.MaxAhead <= 0:
		return errors.New("max age and max ahead must be positive")
	case c.ImportMaxAge <= 0:
		return errors.New("import max age must be positive")
	case c.Exporters.MaxDatagramsPerSecond < 0:
		return errors.New("max datagrams per second must be 0, for no limit, or more")
	case c.Exporters.MaxSamplingRate < 1:
		return errors.New("max sampling rate must be at least 1")
	}
	return nil
}
