package traffic

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	circuitsv1 "github.com/millrace/millrace/proto/gen/millrace/circuits/v1"
	"github.com/millrace/millrace/services/policy/document"
)

func pair(source, destination string, more ...string) *circuitsv1.PrefixPair {
	p := &circuitsv1.PrefixPair{Source: source, Destination: destination}
	for i, into := range []*string{&p.Protocol, &p.SourcePorts, &p.DestinationPorts} {
		if i < len(more) {
			*into = more[i]
		}
	}
	return p
}

func TestWhatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		pair *circuitsv1.PrefixPair
		says string
	}{
		"no prefix":                 {pair("192.0.2.1", "198.51.100.0/24"), "no '/'"},
		"no destination":            {pair("192.0.2.0/24", ""), "no '/'"},
		"bits behind the length":    {pair("192.0.2.0/24", "198.51.100.1/24"), "write 198.51.100.0/24"},
		"two families":              {pair("192.0.2.0/24", "2001:db8::/64"), "one family"},
		"two families, turned":      {pair("2001:db8::/64", "192.0.2.0/24"), "one family"},
		"no protocol of that name":  {pair("192.0.2.0/24", "198.51.100.0/24", "tpc"), `"tpc" is not an IP protocol`},
		"protocol 256":              {pair("192.0.2.0/24", "198.51.100.0/24", "256"), "not an IP protocol"},
		"ports of any protocol":     {pair("192.0.2.0/24", "198.51.100.0/24", "", "", "5001"), "tcp or udp"},
		"ports of gre":              {pair("192.0.2.0/24", "198.51.100.0/24", "gre", "5001"), "tcp or udp"},
		"a port that is none":       {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "http"), "not a port"},
		"port 65536":                {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "65536"), "not a port"},
		"a range that is backwards": {pair("192.0.2.0/24", "198.51.100.0/24", "udp", "", "6-5"), "not a port"},
		"port 0":                    {pair("192.0.2.0/24", "198.51.100.0/24", "udp", "0"), "the first is 1"},
		"a range from port 0 on":    {pair("192.0.2.0/24", "198.51.100.0/24", "udp", "", "0-9"), "the first is 1"},
	} {
		if m, err := Read(c.pair); err == nil || !strings.Contains(err.Error(), c.says) || m != (Match{}) {
			t.Errorf("%s: %+v, %v; want %q", name, m, err, c.says)
		}
	}
}

func TestWhatIsRead(t *testing.T) {
	m, err := Read(pair("192.0.2.0/24", "198.51.100.7/32", "TCP", "40000-40009", "5001"))
	want := Match{Src: netip.MustParsePrefix("192.0.2.0/24"), Dst: netip.MustParsePrefix("198.51.100.7/32"), Protocol: document.TCP}
	if err != nil || *m.SrcPort != (document.PortRange{First: 40000, Last: 40009}) || *m.DstPort != (document.PortRange{First: 5001, Last: 5001}) {
		t.Fatalf("%+v, %v", m, err)
	}
	if m.SrcPort, m.DstPort = nil, nil; m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
	if m, err := Read(pair("192.0.2.0/24", "198.51.100.0/24", "udp", "1-65535", "1-65534")); err != nil || m.SrcPort != nil || m.DstPort == nil {
		t.Errorf("all ports, and all but one: %+v, %v", m, err)
	}
	if m, err := Read(pair("2001:db8::/64", "2001:db8:1::/64", "132")); err != nil || m.Protocol != 132 || m.SrcPort != nil || m.DstPort != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestWhatTrafficHas(t *testing.T) {
	any, tcp := pair("10.1.0.0/16", "10.2.0.0/24"), pair("10.1.0.0/16", "10.2.0.0/24", "tcp")
	ports := pair("10.1.0.0/16", "10.2.0.0/24", "tcp", "40000-40009", "5001")
	for _, c := range []struct {
		pair     *circuitsv1.PrefixPair
		src, dst string
		protocol uint8
		has      bool
	}{
		{any, "10.1.255.255:1", "10.2.0.255:1", 17, true},
		{any, "10.2.0.1:1", "10.1.0.1:1", 17, false},
		{any, "10.1.0.1:1", "10.2.1.0:1", 17, false},
		{any, "[::ffff:10.1.0.1]:1", "[::ffff:10.2.0.1]:1", 6, true}, // as stores of both families have it
		{tcp, "10.1.0.1:0", "10.2.0.1:0", 6, true},
		{tcp, "10.1.0.1:0", "10.2.0.1:0", 17, false},
		{ports, "10.1.0.1:40000", "10.2.0.1:5001", 6, true},
		{ports, "10.1.0.1:40009", "10.2.0.1:5001", 6, true},
		{ports, "10.1.0.1:39999", "10.2.0.1:5001", 6, false},
		{ports, "10.1.0.1:40010", "10.2.0.1:5001", 6, false},
		{ports, "10.1.0.1:40000", "10.2.0.1:5000", 6, false},
		{ports, "10.1.0.1:40000", "10.2.0.1:5002", 6, false},
		{ports, "10.1.0.1:40000", "10.2.0.1:5001", 17, false},
	} {
		m, err := Read(c.pair)
		if err != nil {
			t.Fatal(err)
		}
		if has := m.Has(netip.MustParseAddrPort(c.src), netip.MustParseAddrPort(c.dst), c.protocol); has != c.has {
			t.Errorf("%v has %s to %s of protocol %d: %t", c.pair, c.src, c.dst, c.protocol, has)
		}
	}
}

// Ports are divided in proportion to bytes, in order, and none is left out or given twice.
func TestFlowsAreDividedByPorts(t *testing.T) {
	for name, c := range map[string]struct {
		pair  *circuitsv1.PrefixPair
		bytes []int64
		want  []string
	}{
		"of the destination":       {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "5000-5009"), []int64{6, 4}, []string{"any > 5000-5005", "any > 5006-5009"}},
		"of the source":            {pair("192.0.2.0/24", "198.51.100.0/24", "udp", "100-103"), []int64{1, 1}, []string{"100-101 > any", "102-103 > any"}},
		"rather of the former":     {pair("192.0.2.0/24", "198.51.100.0/24", "udp", "100-103", "7-8"), []int64{1, 1}, []string{"100-103 > 7", "100-103 > 8"}},
		"of the latter if too few": {pair("192.0.2.0/24", "198.51.100.0/24", "udp", "100-102", "7-8"), []int64{1, 1, 1}, []string{"100 > 7-8", "101 > 7-8", "102 > 7-8"}},
		"one at least":             {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "1-10"), []int64{1 << 58, 1, 1}, []string{"any > 1-8", "any > 9", "any > 10"}},
		"one at least, in front":   {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "1-10"), []int64{1, 1, 1 << 58}, []string{"any > 1", "any > 2", "any > 3-10"}},
		"one for each":             {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "1-3"), []int64{1, 1, 98}, []string{"any > 1", "any > 2", "any > 3"}},
		"rounded down":             {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "1-65534"), []int64{1, 2}, []string{"any > 1-21844", "any > 21845-65534"}},
		"among one":                {pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "", "9"), []int64{7}, []string{"any > 9"}},
	} {
		m, err := Read(c.pair)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		parts, err := m.Divide(c.bytes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, p := range parts {
			if p.Src != m.Src || p.Dst != m.Dst || p.Protocol != m.Protocol {
				t.Errorf("%s: %+v of %+v", name, p, m)
			}
			got = append(got, portText(p.SrcPort)+" > "+portText(p.DstPort))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func portText(r *document.PortRange) string {
	if r == nil {
		return "any"
	}
	return r.String()
}

func TestFlowsThatCannotBeDivided(t *testing.T) {
	for _, p := range []*circuitsv1.PrefixPair{
		pair("192.0.2.0/24", "198.51.100.0/24"), pair("192.0.2.0/24", "198.51.100.0/24", "tcp"),
		pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "1-65535"), pair("192.0.2.0/24", "198.51.100.0/24", "tcp", "7", "80"),
	} {
		m, err := Read(p)
		if err != nil {
			t.Fatal(err)
		}
		if parts, err := m.Divide([]int64{1, 1}); err == nil || err.Error() != "flows are divided by port: name a range of 2 source or destination ports at least" {
			t.Errorf("%v: %v, %v", p, parts, err)
		}
	}
}
