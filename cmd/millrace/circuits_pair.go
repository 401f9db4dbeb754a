package main

import (
	"fmt"
	"strings"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
)

// anyText stands for a protocol or ports that do not matter; an empty text does as well.
const anyText = "any"

// readPair reads what --pair says. Whether prefixes, protocol and ports mean something is the service's to say.
func readPair(text string) (*circuitsv1.PrefixPair, error) {
	words := strings.Split(text, ",")
	p := &circuitsv1.PrefixPair{}
	fields := []*string{&p.Source, &p.Destination, &p.Protocol, &p.SourcePorts, &p.DestinationPorts}
	if len(words) < 2 || len(words) > len(fields) {
		return nil, fmt.Errorf("--pair %s: two prefixes, and perhaps a protocol and ports, such as 192.0.2.0/24,198.51.100.0/24,tcp,any,5001", text)
	}
	for i, word := range words {
		if word != anyText {
			*fields[i] = word
		}
	}
	return p, nil
}

// pairText is a pair as people read it.
func pairText(p *circuitsv1.PrefixPair) string {
	text := p.GetSource() + " to " + p.GetDestination()
	if p.GetProtocol() != "" {
		text += ", " + p.GetProtocol()
	}
	if p.GetSourcePorts() != "" {
		text += ", from port " + p.GetSourcePorts()
	}
	if p.GetDestinationPorts() != "" {
		text += ", to port " + p.GetDestinationPorts()
	}
	return text
}
