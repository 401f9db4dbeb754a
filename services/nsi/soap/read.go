// Package soap is SOAP 1.1 as the NSI Connection Service 2.0 uses it: requests are read, answers and callbacks are
// written.
//
// In: bodies of HTTP requests, and what to tell. Out: a header and one message, or envelopes. Next: services/nsi.
//
// Nothing outside of a body is ever read: a document type, and so every entity, is refused, and so is what is nested
// deeply.
//
// Mutation testing: 21 of 23 killed (docs/reference/mutants.md).
package soap

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// Namespaces.
const (
	NSEnvelope = "http://schemas.xmlsoap.org/soap/envelope/"
	NSTypes    = "http://schemas.ogf.org/nsi/2013/12/connection/types"
	NSHeaders  = "http://schemas.ogf.org/nsi/2013/12/framework/headers"
	NSP2P      = "http://schemas.ogf.org/nsi/2013/12/services/point2point"
	// Actions is where every SOAPAction begins.
	Actions = "http://schemas.ogf.org/nsi/2013/12/connection/service/"
)

// The protocol versions.
const (
	ToProvider  = "application/vnd.ogf.nsi.cs.v2.provider+soap"
	ToRequester = "application/vnd.ogf.nsi.cs.v2.requester+soap"
)

// Header is nsiHeader. What else it has, such as a path trace, is left out.
type Header struct {
	ProtocolVersion string `xml:"protocolVersion"`
	CorrelationID   string `xml:"correlationId"`
	RequesterNSA    string `xml:"requesterNSA"`
	ProviderNSA     string `xml:"providerNSA"`
	ReplyTo         string `xml:"replyTo,omitempty"`
}

// Request is the message of a body. Fields that the message has not are empty.
type Request struct {
	// Operation is the element's name, such as reserve.
	Operation string `xml:"-"`
	// IDs and GlobalIDs are all connectionId and globalReservationId of a query; others have one.
	IDs         []string  `xml:"connectionId"`
	GlobalIDs   []string  `xml:"globalReservationId"`
	Description string    `xml:"description"`
	Criteria    *Criteria `xml:"criteria"`
	Since       string    `xml:"ifModifiedSince"`
	FirstNotice int64     `xml:"startNotificationId"`
	LastNotice  int64     `xml:"endNotificationId"`
	FirstResult int64     `xml:"startResultId"`
	LastResult  int64     `xml:"endResultId"`
}

// Criteria of a reserve.
type Criteria struct {
	Version     *int      `xml:"version,attr"`
	Schedule    *Schedule `xml:"schedule"`
	ServiceType string    `xml:"serviceType"`
	P2PS        *P2PS     `xml:"http://schemas.ogf.org/nsi/2013/12/services/point2point p2ps"`
	// Capacity alone is a modification.
	Capacity *int64 `xml:"http://schemas.ogf.org/nsi/2013/12/services/point2point capacity"`
}

// Schedule of criteria. A time that is nil, or empty, is none.
type Schedule struct {
	Start *Moment `xml:"startTime"`
	End   *Moment `xml:"endTime"`
}

// Moment is a time, or xsi:nil.
type Moment struct {
	Text string `xml:",chardata"`
}

// P2PS is the point-to-point service.
type P2PS struct {
	Capacity    int64     `xml:"capacity"`
	Direction   string    `xml:"directionality"`
	Symmetric   *bool     `xml:"symmetricPath"`
	Source      string    `xml:"sourceSTP"`
	Destination string    `xml:"destSTP"`
	ERO         []Through `xml:"ero>orderedSTP"`
	Inclusion   []Set     `xml:"inclusion"`
	Exclusion   []Set     `xml:"exclusion"`
}

// Through is an STP that the path is to use.
type Through struct {
	STP string `xml:"stp"`
}

// Set is what a path is to use, or not.
type Set struct {
	Type string `xml:"type,attr"`
}

// The bounds of a body. maxDepth is far more than any message has.
const (
	MaxBody  = 1 << 18
	maxDepth = 40
)

// Errors that callers branch on.
var (
	ErrEnvelope = errors.New("it is no SOAP 1.1 envelope with an NSI header and one NSI message")
	ErrDocument = errors.New("a document type or a processing instruction is not taken")
)

type envelope struct {
	XMLName xml.Name `xml:"http://schemas.xmlsoap.org/soap/envelope/ Envelope"`
	Header  struct {
		NSI *Header `xml:"http://schemas.ogf.org/nsi/2013/12/framework/headers nsiHeader"`
	} `xml:"http://schemas.xmlsoap.org/soap/envelope/ Header"`
	Body struct {
		Messages []message `xml:",any"`
	} `xml:"http://schemas.xmlsoap.org/soap/envelope/ Body"`
}

// message reads any element as a Request.
type message struct {
	name    xml.Name
	request Request
}

// UnmarshalXML implements xml.Unmarshaler.
func (m *message) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	m.name = start.Name
	return d.DecodeElement(&m.request, &start)
}

// Read reads a body.
func Read(raw []byte) (Header, Request, error) {
	if err := check(raw); err != nil {
		return Header{}, Request{}, err
	}
	var e envelope
	if err := xml.Unmarshal(raw, &e); err != nil {
		return Header{}, Request{}, fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	if e.Header.NSI == nil || len(e.Body.Messages) != 1 || e.Body.Messages[0].name.Space != NSTypes {
		return Header{}, Request{}, ErrEnvelope
	}
	out := e.Body.Messages[0].request
	out.Operation = e.Body.Messages[0].name.Local
	return *e.Header.NSI, out, nil
}

// check looks at all tokens once: what is behind the envelope too.
func check(raw []byte) error {
	d := xml.NewDecoder(bytes.NewReader(raw))
	depth, elements := 0, 0
	for {
		t, err := d.Token()
		switch t := t.(type) {
		case xml.StartElement:
			if depth == 0 {
				elements++
			}
			if depth++; depth > maxDepth || elements > 1 {
				return ErrEnvelope
			}
		case xml.EndElement:
			depth--
		case xml.Directive:
			return ErrDocument
		case xml.ProcInst:
			if t.Target != "xml" {
				return ErrDocument
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrEnvelope, err)
		}
	}
}
