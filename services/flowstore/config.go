package flowstore

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/millrace/millrace/internal/bus"
	"github.com/millrace/millrace/internal/store"
)

// Configuration of the flow store.
type Configuration struct {
	// Store chooses the database: the embedded engine or ClickHouse servers.
	Store store.Configuration `yaml:"store"`
	// Retention is how long flow records are kept after their start. Default 2160h, 90 days; 0 keeps them for ever.
	Retention time.Duration `yaml:"retention"`
	// TelemetryRetention is the same for counters and for samples of VPN flows. Default 720h, 30 days.
	TelemetryRetention time.Duration `yaml:"telemetry_retention"`
	// UsageRetention is the same for what circuits sent in each minute. Default 9600h, 400 days.
	UsageRetention time.Duration `yaml:"usage_retention"`
	// SciTags says whose flows are.
	SciTags SciTagsConfiguration `yaml:"scitags"`
	// Linger is how long an insert waits at most for as many messages as came together the last time. Counters of
	// routers wait 200 ms at least. Default 20ms.
	Linger time.Duration `yaml:"linger"`
	// MaxRows ends the wait: an insert holds about this many rows. Default 200000.
	MaxRows int `yaml:"max_rows"`
	// Workers is how many bus messages are taken at a time; they share inserts. Default 16.
	Workers int `yaml:"workers"`
}

// DefaultConfiguration keeps flows 90 days and counters 30, in the embedded engine under dir.
func DefaultConfiguration(dir string) Configuration {
	return Configuration{
		Store:              store.DefaultConfiguration(dir),
		Retention:          90 * 24 * time.Hour,
		TelemetryRetention: 30 * 24 * time.Hour,
		UsageRetention:     400 * 24 * time.Hour,
		Linger:             20 * time.Millisecond,
		MaxRows:            200_000,
		Workers:            16,
	}
}

// RelativeTo resolves the file with the password against the folder of the configuration file.
func (c *Configuration) RelativeTo(folder string) {
	if f := &c.Store.PasswordFile; *f != "" && !filepath.IsAbs(*f) {
		*f = filepath.Join(folder, *f)
	}
	if f := &c.SciTags.Registry; *f != "" && !filepath.IsAbs(*f) {
		*f = filepath.Join(folder, *f)
	}
}

// Memory is how much the process holds at most of what is on its way to the database, in octets: each worker has a
// message, decoded, and again as the columns of its insert. The database's own memory is Store.MaxServerMemory.
func (c Configuration) Memory() int64 { return int64(c.Workers) * decoded * bus.MaxMessage }

// decoded is how many times as large as on the bus a message is in both forms together.
const decoded = 8

// Validate rejects invalid values; its error names a valid one.
func (c Configuration) Validate() error {
	switch {
	case min(c.Retention, c.TelemetryRetention, c.UsageRetention) < 0:
		return errors.New("a retention is negative; 0 keeps data for ever")
	case c.Retention%time.Second != 0 || c.TelemetryRetention%time.Second != 0 || c.UsageRetention%time.Second != 0:
		return errors.New("a retention must be whole seconds")
	case c.Workers < 1:
		return errors.New("workers must be at least 1")
	case c.MaxRows < 1 || c.MaxRows > store.MaxAtomicRows:
		return errors.New("max rows must be between 1 and 1000000: more are not written as one")
	}
	if err := c.SciTags.Validate(); err != nil {
		return fmt.Errorf("scitags: %w", err)
	}
	if err := c.Store.Validate(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}
