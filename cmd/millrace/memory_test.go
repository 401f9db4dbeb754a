package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The page has every part of a process, and the sums, in MiB.
func TestThePageOfMemoryHasEveryPart(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reference/memory.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	all := func(string) bool { return true }
	one, several := defaultConfig(t.TempDir()), defaultConfig(t.TempDir())
	several.Kafka.Brokers = []string{"127.0.0.1:9092"}
	rows := map[string]bool{}
	for _, cfg := range []*config{one, several} {
		parts := memoryParts(cfg, all)
		for _, p := range parts {
			rows[fmt.Sprintf("| %s | %d |", p.what, p.octets>>20)] = true
		}
		rows[fmt.Sprintf("**%d MiB**", memoryLimit(parts)>>20)] = true
	}
	for row := range rows {
		if !strings.Contains(page, row) {
			t.Errorf("docs/reference/memory.md lacks %q", row)
		}
	}
}

func TestAPartThatIsNotHostedNeedsNoMemory(t *testing.T) {
	cfg := defaultConfig(t.TempDir())
	alone := memoryLimit(memoryParts(cfg, func(service string) bool { return service == "push" }))
	if collector := memoryLimit(memoryParts(cfg, func(service string) bool { return service == "flow" })); collector <= alone {
		t.Errorf("push alone has a limit of %d, flow alone of %d", alone, collector)
	}
	cfg.Kafka.Brokers = []string{"127.0.0.1:9092"}
	if behind := memoryParts(cfg, func(string) bool { return false }); len(behind) != 2 || behind[1].what != "Kafka" {
		t.Errorf("parts beside Kafka: %v", behind)
	}
}
