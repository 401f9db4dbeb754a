package soap

import (
	"bytes"
	"encoding/xml"
	"time"
)

// Element is one element with what is in it. A prefix is part of Name: t of NSTypes, p of NSP2P, h of NSHeaders.
// Elements of NSI that are no messages have none.
type Element struct {
	Name       string
	Attributes []xml.Attr
	Text       string
	Children   []Element
	// raw was made by Bytes before.
	raw []byte
}

// Raw is an element that Bytes made before.
func Raw(made []byte) Element { return Element{raw: made} }

// E is an element with children; those without a name are left out.
func E(name string, children ...Element) Element { return Element{Name: name, Children: children} }

// T is an element with text.
func T(name, text string) Element { return Element{Name: name, Text: text} }

// Optional is T where there is a text.
func Optional(name, text string) Element {
	if text == "" {
		return Element{}
	}
	return T(name, text)
}

// Time is an element with a moment; without a name where there is none.
func Time(name string, at time.Time) Element {
	if at.IsZero() {
		return Element{}
	}
	return T(name, at.UTC().Format(time.RFC3339))
}

// With adds an attribute.
func (e Element) With(name, value string) Element {
	e.Attributes = append(e.Attributes, xml.Attr{Name: xml.Name{Local: name}, Value: value})
	return e
}

// Bytes is an element as text, to be kept and put into an envelope.
func (e Element) Bytes() []byte {
	var b bytes.Buffer
	e.write(&b)
	return b.Bytes()
}

// write makes names of constants, and escapes texts.
func (e Element) write(b *bytes.Buffer) {
	switch {
	case e.raw != nil:
		b.Write(e.raw)
		return
	case e.Name == "":
		return
	}
	b.WriteString("<" + e.Name)
	for _, a := range e.Attributes {
		b.WriteString(" " + a.Name.Local + `="`)
		escape(b, a.Value)
		b.WriteString(`"`)
	}
	b.WriteString(">")
	escape(b, e.Text)
	for _, child := range e.Children {
		child.write(b)
	}
	b.WriteString("</" + e.Name + ">")
}

func escape(b *bytes.Buffer, text string) {
	if err := xml.EscapeText(b, []byte(text)); err != nil {
		panic(err) // a buffer takes everything
	}
}

const opening = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<s:Envelope xmlns:s="` + NSEnvelope + `" xmlns:t="` + NSTypes +
	`" xmlns:h="` + NSHeaders + `" xmlns:p="` + NSP2P + `"><s:Header>`

// Envelope is a message with its header. body is made by Element.Bytes.
func Envelope(h Header, body []byte) []byte {
	head := E("h:nsiHeader", T("protocolVersion", h.ProtocolVersion), T("correlationId", h.CorrelationID), T("requesterNSA", h.RequesterNSA),
		T("providerNSA", h.ProviderNSA), Optional("replyTo", h.ReplyTo))
	return bytes.Join([][]byte{[]byte(opening), head.Bytes(), []byte("</s:Header><s:Body>"), body, []byte("</s:Body></s:Envelope>\n")}, nil)
}

// Fault is an envelope that refuses a request. Code is Client or Server; detail may have no name.
func Fault(code, text string, detail Element) []byte {
	f := E("s:Fault", T("faultcode", "s:"+code), T("faultstring", text), E("detail", detail))
	return bytes.Join([][]byte{[]byte(opening), []byte("</s:Header><s:Body>"), f.Bytes(), []byte("</s:Body></s:Envelope>\n")}, nil)
}
