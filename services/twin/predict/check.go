package predict

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/millrace/millrace/scenario"
	"github.com/millrace/millrace/services/twin/tcp"
)

// laws are the congestion controls the twin has; the empty name is the kernel's default.
var laws = map[string]tcp.Algorithm{"": tcp.Cubic, "cubic": tcp.Cubic, "reno": tcp.Reno, "htcp": tcp.HTCP}

// Check reports everything in a scenario that cannot be simulated, each with its place.
func Check(s *scenario.Scenario) error {
	var all []error
	add := func(path, format string, args ...any) {
		all = append(all, fmt.Errorf("%s: %s", place(s, path), fmt.Sprintf(format, args...)))
	}
	for i, r := range s.Routers {
		path := fmt.Sprintf("$.routers[%d]", i)
		if len(r.Daemons) > 0 || r.FRR.Configuration != "" || len(r.FRR.Daemons) > 0 {
			add(path, "router %s runs programs or FRR configuration of its own: the twin cannot simulate their effect on packets", r.Name)
		}
		if len(r.VRFs) > 0 {
			add(path, "router %s has VRFs: the twin routes in one table; paper 001's networks are in `millrace papers --only 001`", r.Name)
		}
	}
	for i, h := range s.Hosts {
		path := fmt.Sprintf("$.hosts[%d]", i)
		if len(h.Daemons) > 0 {
			add(path, "host %s runs programs of its own, which the twin does not simulate", h.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(h.Settings)) {
			if known := settings[name]; known == nil || !known(h.Settings[name]) {
				add(path+".settings", "host %s sets %s to %s, which the twin's hosts cannot do", h.Name, name, h.Settings[name])
			}
		}
	}
	for i, p := range s.Phases {
		if p.Policy != nil && strings.HasSuffix(p.Policy.Use, ".json") {
			add(fmt.Sprintf("$.phases[%d].policy.use", i), "%s is OpenConfig as it stands: the twin compiles policies (*.yaml)", p.Policy.Use)
		}
		for j, c := range p.Changes {
			if strings.HasSuffix(c.Policy.Use, ".json") {
				add(fmt.Sprintf("$.phases[%d].changes[%d].policy", i, j), "%s is OpenConfig as it stands: the twin compiles policies (*.yaml)", c.Policy.Use)
			}
		}
		if n := streams(p); n > maxStreams {
			add(fmt.Sprintf("$.phases[%d]", i), "%d TCP streams in phase %s: the twin takes %d", n, p.Name, maxStreams)
		}
		for j, a := range p.Applications {
			if a.Start%time.Second != 0 || a.Stop%time.Second != 0 { // or a part of its bytes would count as all
				add(fmt.Sprintf("$.phases[%d].applications[%d]", i, j), "%s runs from %s to %s: the twin counts by whole seconds", a.Name, a.Start, a.Stop)
			}
			if _, known := laws[a.CongestionControl]; !known {
				add(fmt.Sprintf("$.phases[%d].applications[%d].congestion_control", i, j), "congestion control %s: the twin has reno, cubic and htcp", a.CongestionControl)
			}
		}
	}
	return errors.Join(all...)
}

// maxStreams bounds the memory of a phase: what a TCP sender knows of its window, and its receiver, takes 40 KB.
const maxStreams = 4096

func streams(p scenario.Phase) (n int) {
	for _, a := range p.Applications {
		if a.Kind == scenario.TCP {
			n += a.Streams
		}
	}
	return n
}

// place is file:line:column of a YAML path, or of its nearest parent that is in the file.
func place(s *scenario.Scenario, path string) string {
	file, err := parser.ParseBytes(s.Text, 0)
	for err == nil && path != "" {
		if p, wrong := yaml.PathString(path); wrong == nil {
			if node, wrong := p.FilterFile(file); wrong == nil && node != nil {
				at := node.GetToken().Position
				return fmt.Sprintf("%s:%d:%d", s.File, at.Line, at.Column)
			}
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return s.File + ":1:1"
}
