package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"
)

// Parse reads a scenario; name appears in errors, each of which reads
// name:line:column: what is wrong.
func Parse(name string, raw []byte) (*Scenario, error) {
	if depth := nesting(raw); depth > maxNesting {
		return nil, fmt.Errorf("%s:1:1: brackets are nested %d deep, over %d", name, depth, maxNesting)
	}
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, located(name, nil, err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("%s:1:1: the scenario is empty", name)
	}
	s := &Scenario{Text: raw, File: name}
	if err := yaml.NewDecoder(bytes.NewReader(raw), yaml.Strict()).Decode(s); err != nil {
		return nil, located(name, file, err)
	}
	s.expand()
	var all []error
	for _, p := range s.problems() {
		all = append(all, fmt.Errorf("%s:%s: %s", name, position(file, p.path), p.text))
	}
	return s, errors.Join(all...)
}

// maxNesting is far beyond any scenario's; the YAML parser takes quadratic time for more.
const maxNesting = 100

// nesting is how deep flow sequences and mappings are nested, brackets within texts included.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	for _, b := range raw {
		switch b {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

// expand fills in what the file leaves to defaults.
func (s *Scenario) expand() {
	if s.IGP.Hello == 0 {
		s.IGP.Hello = time.Second
	}
	if s.IGP.Dead == 0 {
		s.IGP.Dead = 4 * s.IGP.Hello
	}
	for i := range s.Routers {
		s.Routers[i].expand(i)
	}
	for i := range s.Links {
		s.expandLink(&s.Links[i])
	}
	for i := range s.Phases {
		for j := range s.Phases[i].Applications {
			s.Phases[i].Applications[j].expand()
		}
		if earlier, ok := s.Phase(s.Phases[i].Repeat); ok && s.Phases[i].Repeat != "" {
			s.Phases[i].Applications = append(s.Phases[i].Applications, earlier.Applications...)
		}
	}
}

func (r *Router) expand(place int) {
	if r.Index == 0 {
		r.Index = place + 1
	}
	if n := r.NetFlow; n != nil {
		if n.Version == 0 {
			n.Version = 9
		}
		if n.ActiveTimeout == 0 {
			n.ActiveTimeout = 10 * time.Second
		}
		if n.Sampling == 0 {
			n.Sampling = 1
		}
	}
}

func (s *Scenario) expandLink(l *Link) {
	if l.Buffer == 0 {
		l.Buffer = defaultBuffer(l.Rate)
	}
	if l.Cost == 0 {
		l.Cost = 10
	}
	if l.MTU == 0 {
		l.MTU = 1500
		if s.BetweenRouters(*l) {
			l.MTU = 1600
		}
	}
}

func (a *Application) expand() {
	switch a.Kind {
	case Ping:
		if a.Interval == 0 {
			a.Interval = 100 * time.Millisecond
		}
	case TCP:
		if a.Streams == 0 {
			a.Streams = 1
		}
	case UDP:
		if a.Packet == 0 {
			a.Packet = 1400
		}
		if a.Interval == 0 {
			a.Interval = 4 * time.Millisecond
		}
	}
}

// BetweenRouters tells a core link from a host's access link.
func (s *Scenario) BetweenRouters(l Link) bool {
	_, a := s.Router(l.A.Node)
	_, b := s.Router(l.B.Node)
	return a && b
}
