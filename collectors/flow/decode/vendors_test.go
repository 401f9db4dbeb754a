package decode

import "testing"

// TestVendorCaptures holds what tshark and nfcapd 1.7.1 find in datagrams of real exporters that do not
// keep to the letter of the RFCs; testdata/logstash/README.md says where they come from.
func TestVendorCaptures(t *testing.T) {
	for _, c := range []struct {
		name             string
		flows            int
		bytes            uint64
		notFlows, others int // others: templates refused and sets without template
		sampling         []Sampling
	}{
		{name: "cisco-aci", flows: 3, bytes: 3 * 99},           // zeros behind the templates
		{name: "paloalto-81", flows: 1, bytes: 363},            // zeros behind the data
		{name: "juniper-srx", sampling: []Sampling{{Rate: 1}}}, // a scope of no length
		// Fillers of no length. Five of the ten records have no bytes, in or out.
		{name: "zero-length-fields", flows: 5, bytes: 5 * 32, notFlows: 5},
		// Octets of initiator and responder. Four of the 19 records say that a connection was made: no bytes yet.
		{name: "cisco-asa", flows: 15, bytes: 1131, notFlows: 4},
		// A total beside a delta of zero is no news.
		{name: "barracuda", flows: 4, bytes: 388, notFlows: 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := decodeAll(t, capture(t, c.name)...)
			var bytes uint64
			for _, f := range m.Flows {
				bytes += f.Record.Bytes
			}
			if len(m.Flows) != c.flows || m.NotFlows != c.notFlows || m.BadTemplates+m.NoTemplate != c.others || bytes != c.bytes {
				t.Errorf("%d flows of %d bytes, %d records that are none, %d templates refused, %d sets without; want %d of %d, %d, %d",
					len(m.Flows), bytes, m.NotFlows, m.BadTemplates, m.NoTemplate, c.flows, c.bytes, c.notFlows, c.others)
			}
			if d := diff(m.Sampling, c.sampling); d != "" {
				t.Errorf("sampling -got +want\n%s", d)
			}
		})
	}
}
