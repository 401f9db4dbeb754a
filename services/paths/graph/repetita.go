package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// absentMetric is where REPETITA begins to take a link for absent.
const absentMetric = 1_000_000_000

// ParseRepetita reads the text of a REPETITA .graph file: a table of nodes (label x y) and one of edges (label src dest
// weight bw delay), each under two lines of heading. An edge is one direction, bw is in kbit/s and delay in
// microseconds. The weight is both metrics; an edge of weight 1,000,000,000 or more is absent.
//
// Repeated labels, which the format allows, get the number of their line: a#12.
func ParseRepetita(text string) (*Graph, error) {
	p := parser{seen: map[string]bool{}}
	for line := range strings.Lines(text) {
		p.line++
		if err := p.take(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
	if p.part != edges {
		return nil, fmt.Errorf("no table of edges: a line EDGES n, a heading, then lines label src dest weight bw delay")
	}
	return New(p.nodes, p.links)
}

// The parts of a file, and the headings that follow the first line of each.
const (
	nothing = iota
	nodesHead
	nodes
	edgesHead
	edges
)

type parser struct {
	line  int
	part  int
	nodes []Node
	links []Link
	seen  map[string]bool // labels of the part
}

func (p *parser) take(fields []string) error {
	switch {
	case len(fields) == 0:
		return nil
	case p.part == nothing && fields[0] == "NODES":
		p.part = nodesHead
	case p.part == nodes && fields[0] == "EDGES" && len(fields) == 2:
		p.part = edgesHead
		clear(p.seen)
	case p.part == nodesHead || p.part == edgesHead:
		p.part++
	case p.part == nodes:
		label := p.unique(fields[0])
		p.nodes = append(p.nodes, Node{ID: label, Name: label})
	case p.part == edges:
		return p.edge(fields)
	default:
		return fmt.Errorf("%q before a line NODES n", fields[0])
	}
	return nil
}

func (p *parser) unique(label string) string {
	if p.seen[label] {
		label = fmt.Sprintf("%s#%d", label, p.line)
	}
	p.seen[label] = true
	return label
}

func (p *parser) edge(f []string) error {
	if len(f) != 6 {
		return fmt.Errorf("%d columns; an edge has label src dest weight bw delay", len(f))
	}
	var n [3]int64
	for i, column := range []string{"src", "dest", "weight"} {
		var err error
		if n[i], err = strconv.ParseInt(f[i+1], 10, 64); err != nil || n[i] < 0 {
			return fmt.Errorf("%s %q is not a number from 0 on", column, f[i+1])
		}
	}
	if n[0] >= int64(len(p.nodes)) || n[1] >= int64(len(p.nodes)) {
		return fmt.Errorf("edge from %d to %d; nodes are numbered from 0 to %d", n[0], n[1], len(p.nodes)-1)
	}
	if n[2] == 0 {
		return fmt.Errorf("weight 0; the least is 1")
	}
	capacity, err := quantity("bw", f[4], 1000, math.MaxInt64/2)
	if err != nil {
		return err
	}
	delay, err := quantity("delay", f[5], 1, DelayUnknown-1)
	if err != nil {
		return err
	}
	if n[2] < absentMetric && n[0] != n[1] {
		p.links = append(p.links, Link{
			ID: p.unique(f[0]), From: int32(n[0]), To: int32(n[1]), IGP: uint32(n[2]), Capacity: capacity, Delay: uint32(delay),
		})
	}
	return nil
}

// quantity reads a number that may have decimals, and multiplies it.
func quantity(column, text string, factor, most float64) (int64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v*factor > most {
		return 0, fmt.Errorf("%s %q is not a number from 0 to %g", column, text, most/factor)
	}
	return int64(math.Round(v * factor)), nil
}
