package main

import (
	"os"
	"runtime/debug"

	"github.com/millrace/millrace/internal/bus"
)

// baseMemory is what a process has beside what waits for a store: an idle control plane has a third of it, the rest is
// for requests, of 16 MiB each at most.
const baseMemory = 512 << 20

// memoryPart is what one part of a process holds at most, in octets.
type memoryPart struct {
	what   string
	octets int64
}

// memoryParts are all of a process; docs/reference/memory.md shows them.
func memoryParts(cfg *config, hosted func(service string) bool) []memoryPart {
	parts := []memoryPart{{"base", baseMemory}}
	if len(cfg.Kafka.Brokers) == 0 {
		parts = append(parts, memoryPart{"bus", int64(len(bus.Topics)) * bus.MemoryBytes})
	} else {
		parts = append(parts, memoryPart{"Kafka", bus.DefaultKafkaConfiguration().Memory()})
	}
	for _, s := range services() {
		if settings, bounded := cfg.settings(s.name).(interface{ Memory() int64 }); bounded && hosted(s.name) {
			parts = append(parts, memoryPart{s.name, settings.Memory()})
		}
	}
	return parts
}

// memoryLimit is the sum, and a quarter of it for garbage.
func memoryLimit(parts []memoryPart) (octets int64) {
	for _, p := range parts {
		octets += p.octets
	}
	return octets + octets/4
}

// limitMemory has garbage collected before the process is larger than all parts may be. An operator's GOMEMLIMIT counts
// instead.
func (p *process) limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(memoryParts(p.cfg, func(service string) bool { return p.hosted[service] })))
	}
}
