package decode

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/internal/flowrecord"
)

// TestRestoredTemplatesDecodeAlike: what was kept in a file reads every datagram of every capture as what it was made
// of.
func TestRestoredTemplatesDecodeAlike(t *testing.T) {
	at := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	templates, flows := 0, 0
	for _, session := range captureSessions(t) {
		var first Templates
		first.Expire(at, time.Hour)
		var m Message
		for _, d := range session {
			if h, err := ParseHeader(d); err == nil {
				Decode(d, h, &first, &m) //nolint:errcheck // some captures have datagrams that are refused
			}
		}
		raw, err := json.Marshal(first.Definitions())
		if err != nil {
			t.Fatal(err)
		}
		var kept []Definition
		if err := json.Unmarshal(raw, &kept); err != nil {
			t.Fatal(err)
		}
		var second Templates
		for _, d := range kept {
			if err := second.Restore(d); err != nil {
				t.Errorf("template %d of domain %d: %v", d.ID, d.Domain, err)
			}
		}
		if diff := cmp.Diff(second.Definitions(), first.Definitions()); diff != "" {
			t.Errorf("templates -restored +before\n%s", diff)
		}
		if second.Bytes() != first.Bytes() {
			t.Errorf("restored templates count as %d bytes, want %d", second.Bytes(), first.Bytes())
		}
		templates += second.Len()
		for _, d := range session {
			a, b := decodeAgain(d, &first), decodeAgain(d, &second)
			if diff := cmp.Diff(b, a, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("a datagram of %d bytes -restored +before\n%s", len(d), diff)
			}
			flows += len(a.Flows)
		}
	}
	if templates < 10 || flows < 50 {
		t.Errorf("only %d templates and %d flows were compared", templates, flows)
	}
}

func decodeAgain(d []byte, templates *Templates) Message {
	var m Message
	if h, err := ParseHeader(d); err == nil {
		Decode(d, h, templates, &m) //nolint:errcheck // as above
	}
	return m
}

func TestWhatNoExporterCanHaveSent(t *testing.T) {
	good := Definition{Source: flowrecord.NetFlowV9, Set: 0, ID: 256, Fields: 1, Specs: u16(8, 4)}
	for name, change := range map[string]func(*Definition){
		"a format without templates":     func(d *Definition) { d.Source = flowrecord.NetFlowV5 },
		"a set of the other format":      func(d *Definition) { d.Set = 2 },
		"no fields":                      func(d *Definition) { d.Fields, d.Specs = 0, nil },
		"fewer fields than zero":         func(d *Definition) { d.Fields = -1 },
		"too many fields":                func(d *Definition) { d.Fields, d.Specs = MaxFields+1, make([]byte, 4*(MaxFields+1)) },
		"more scopes than fields":        func(d *Definition) { d.Scopes = 2 },
		"fields that are cut off":        func(d *Definition) { d.Specs = d.Specs[:3] },
		"more behind the fields":         func(d *Definition) { d.Specs = append(u16(8, 4), 0) },
		"the number of a set":            func(d *Definition) { d.ID = 255 },
		"nothing but fields of length 0": func(d *Definition) { d.Specs = u16(8, 0) },
	} {
		d := good
		change(&d)
		var templates Templates
		if err := templates.Restore(d); !errors.Is(err, ErrDefinition) || templates.Len() != 0 {
			t.Errorf("%s: error is %v with %d templates, want %v and none", name, err, templates.Len(), ErrDefinition)
		}
	}
	var templates Templates
	if err := templates.Restore(good); err != nil {
		t.Error(err)
	}
}
