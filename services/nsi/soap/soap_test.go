package soap

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// reserve is a request as an aggregator sends it, with a path trace.
const reserve = `<?xml version="1.0"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:head="http://schemas.ogf.org/nsi/2013/12/framework/headers"
 xmlns:type="http://schemas.ogf.org/nsi/2013/12/connection/types" xmlns:p2p="http://schemas.ogf.org/nsi/2013/12/services/point2point"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<soapenv:Header><head:nsiHeader><protocolVersion>application/vnd.ogf.nsi.cs.v2.provider+soap</protocolVersion>
<correlationId>urn:uuid:390be79e-5b49-4688-9280-e49b139595e2</correlationId><requesterNSA>urn:r</requesterNSA><providerNSA>urn:p</providerNSA>
<replyTo>http://r/</replyTo><gns:ConnectionTrace xmlns:gns="http://nordu.net/namespaces/2013/12/gnsbod"><Connection index="0">urn:x</Connection></gns:ConnectionTrace>
</head:nsiHeader></soapenv:Header><soapenv:Body><type:reserve><globalReservationId>g</globalReservationId><description>d</description>
<criteria version="3"><schedule><startTime>2026-11-23T22:00:00Z</startTime><endTime xsi:nil="true"/></schedule><serviceType>s</serviceType>
<p2p:p2ps><capacity>200</capacity><directionality>Bidirectional</directionality><sourceSTP>a?vlan=1</sourceSTP><destSTP>z</destSTP>
<ero><orderedSTP order="0"><stp>m</stp></orderedSTP></ero></p2p:p2ps></criteria></type:reserve></soapenv:Body></soapenv:Envelope>`

func TestReadAReserve(t *testing.T) {
	h, m, err := Read([]byte(reserve))
	if err != nil {
		t.Fatal(err)
	}
	c := m.Criteria
	if h.RequesterNSA != "urn:r" || h.ReplyTo != "http://r/" || m.Operation != "reserve" || len(m.IDs) != 0 || m.GlobalIDs[0] != "g" || *c.Version != 3 ||
		c.P2PS.Capacity != 200 || c.P2PS.Source != "a?vlan=1" || len(c.P2PS.ERO) != 1 || c.Schedule.Start.Text != "2026-11-23T22:00:00Z" || c.Schedule.End.Text != "" {
		t.Errorf("%+v\n%+v", h, m)
	}
}

// Both orders of a query's ifModifiedSince are in the field.
func TestReadAQuery(t *testing.T) {
	for _, inside := range []string{
		"<connectionId>1</connectionId><connectionId>2</connectionId><ifModifiedSince>x</ifModifiedSince>",
		"<ifModifiedSince>x</ifModifiedSince><connectionId>1</connectionId><connectionId>2</connectionId>",
	} {
		i, j := strings.Index(reserve, "<type:reserve>"), strings.Index(reserve, "</soapenv:Body>")
		_, m, err := Read([]byte(reserve[:i] + "<type:querySummary>" + inside + "</type:querySummary>" + reserve[j:]))
		if err != nil || len(m.IDs) != 2 || m.Since != "x" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, x := range map[string]struct {
		from, to string
		want     error
	}{
		"an entity":             {`<?xml version="1.0"?>`, `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>`, ErrDocument},
		"a bomb":                {`<?xml version="1.0"?>`, `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>`, ErrDocument},
		"a style sheet":         {`<?xml version="1.0"?>`, `<?xml-stylesheet href="http://x/"?>`, ErrDocument},
		"an entity of its own":  {"<description>d", "<description>&e;", ErrEnvelope},
		"no header":             {"head:nsiHeader", "head:other", ErrEnvelope},
		"SOAP 1.2":              {"http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope", ErrEnvelope},
		"another namespace":     {"http://schemas.ogf.org/nsi/2013/12/connection/types", "urn:x", ErrEnvelope},
		"two messages":          {"</type:reserve>", "</type:reserve><type:reserve/>", ErrEnvelope},
		"something behind it":   {"</soapenv:Envelope>", "</soapenv:Envelope><x/>", ErrEnvelope},
		"an open element":       {"</soapenv:Envelope>", "", ErrEnvelope},
		"a capacity of letters": {"<capacity>200", "<capacity>much", ErrEnvelope},
		"great depth":           {"<description>d", "<description>" + strings.Repeat("<a>", 100) + strings.Repeat("</a>", 100), ErrEnvelope},
	} {
		text := strings.ReplaceAll(reserve, x.from, x.to)
		if _, _, err := Read([]byte(text)); text == reserve || !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWrite(t *testing.T) {
	body := E("t:reserveConfirmed", T("connectionId", `<&">`), Optional("description", ""), Time("none", time.Time{}),
		E("criteria", Raw([]byte("<x></x>"))).With("version", `"1"`))
	got := Envelope(Header{ProtocolVersion: ToRequester, CorrelationID: "c"}, body.Bytes())
	want := `<t:reserveConfirmed><connectionId>&lt;&amp;&#34;&gt;</connectionId><criteria version="&#34;1&#34;"><x></x></criteria></t:reserveConfirmed>`
	if !bytes.Contains(got, []byte(want)) {
		t.Errorf("%s", got)
	}
	for _, raw := range [][]byte{got, Fault("Client", "no & never", E("t:serviceException", T("errorId", "00100")))} {
		if err := check(raw); err != nil {
			t.Errorf("%v: %s", err, raw)
		}
	}
}

// Whatever arrives, reading ends; what is read is written and read again as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(reserve))
	f.Add(Envelope(Header{ProtocolVersion: ToProvider, CorrelationID: "c"}, E("t:provision", T("connectionId", "1")).Bytes()))
	f.Add(Fault("Client", "x", Element{}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, m, err := Read(raw)
		if err != nil {
			return
		}
		h.ReplyTo = ""
		written := E("t:"+m.Operation, T("description", m.Description))
		if strings.Contains(m.Operation, ":") {
			return
		}
		again, back, err := Read(Envelope(h, written.Bytes()))
		clean := func(s string) string { return strings.ReplaceAll(s, "\r", "") }
		if err != nil || clean(again.CorrelationID) != clean(h.CorrelationID) || back.Operation != m.Operation || clean(back.Description) != clean(m.Description) {
			t.Errorf("%+v %q is read again as %+v %q, %v", h, m.Description, again, back.Description, err)
		}
	})
}
