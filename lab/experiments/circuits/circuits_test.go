package circuits

import (
	"testing"

	topologyv1 "github.com/millrace/millrace/proto/gen/millrace/topology/v1"
	"github.com/millrace/millrace/scenario"
)

func TestOnlyScenariosThatAskForACircuitNeedOne(t *testing.T) {
	for name, want := range map[string]bool{"circuit-request": true, "circuit-flow": true, "circuit-l2": true, "circuit-volume": true, "circuit-storm": false, "hntes-redirect": false, "igp-costs": false} {
		s, err := scenario.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if Needed(s) != want {
			t.Errorf("%s: %t", name, Needed(s))
		}
	}
}

// A policy that is planned before all interfaces are known would leave ports without queues.
func TestTheTopologyIsKnownWhenAllInterfacesAre(t *testing.T) {
	node := func(name string, interfaces int) *topologyv1.Node {
		return &topologyv1.Node{Name: name, Interfaces: make([]*topologyv1.Interface, interfaces)}
	}
	links := make([]*topologyv1.Link, 2)
	for name, c := range map[string]struct {
		s    *topologyv1.TopologySnapshot
		want bool
	}{
		"whole":                    {&topologyv1.TopologySnapshot{Nodes: []*topologyv1.Node{node("A", 1), node("B", 2)}, Links: links}, true},
		"a router is missing":      {&topologyv1.TopologySnapshot{Nodes: []*topologyv1.Node{node("A", 1)}, Links: links}, false},
		"a link is missing":        {&topologyv1.TopologySnapshot{Nodes: []*topologyv1.Node{node("A", 1), node("B", 2)}, Links: links[:1]}, false},
		"a router has no name yet": {&topologyv1.TopologySnapshot{Nodes: []*topologyv1.Node{node("", 1), node("B", 2)}, Links: links}, false},
		"its ports are not known":  {&topologyv1.TopologySnapshot{Nodes: []*topologyv1.Node{node("A", 0), node("B", 2)}, Links: links}, false},
		"nothing is known":         {nil, false},
	} {
		if got := known(c.s, 2, 2); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What the volume's phase is made for: each part of the transfer begins and ends with its slot, and its host has the
// slot's rate.
func TestTheVolumesTrafficFitsItsSlots(t *testing.T) {
	s, err := scenario.Load("circuit-volume")
	if err != nil {
		t.Fatal(err)
	}
	phase, _ := s.Phase("night")
	bits := int64(0)
	for _, a := range phase.Applications {
		if a.Group != "transfer" && a.Name != "other" {
			continue
		}
		var line int64
		for _, l := range s.Links {
			if l.A.Node == a.From {
				line = int64(l.Rate)
			}
		}
		if a.Name == "other" {
			if line != otherRate || a.Start.Seconds() != otherFrom || a.Stop.Seconds() != otherTo {
				t.Errorf("the other circuit is of %d bit/s from %d to %d; its traffic is %+v", otherRate, otherFrom, otherTo, a)
			}
			continue
		}
		bits += line * int64((a.Stop - a.Start).Seconds())
	}
	if bits != volumeBytes*8 || phase.Applications[0].Start.Seconds() != volumeFrom {
		t.Errorf("hosts send %d bits, from %s on", bits, phase.Applications[0].Start)
	}
}

func TestSharesOfWhatHostsSent(t *testing.T) {
	sent := []octetsAndFrames{{1000, 10}, {2000, 20}}
	for name, c := range map[string]struct {
		used        []octetsAndFrames
		least, most float64
	}{
		"all of it":              {sent, 1, 1},
		"octets are missing":     {[]octetsAndFrames{{1000, 10}, {1500, 20}}, 0.75, 1},
		"a frame is missing":     {[]octetsAndFrames{{1000, 9}, {2000, 20}}, 0.9, 1},
		"more than was sent":     {[]octetsAndFrames{{1000, 10}, {2500, 21}}, 1, 1.25},
		"one is silent":          {[]octetsAndFrames{{}, {2000, 20}}, 0, 1},
		"more here, less beside": {[]octetsAndFrames{{1100, 11}, {1000, 10}}, 0.5, 1.1},
	} {
		if least, most := shares(c.used, sent); least != c.least || most != c.most {
			t.Errorf("%s: %g to %g", name, least, most)
		}
	}
}
