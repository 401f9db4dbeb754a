package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"strings"
	"text/tabwriter"
)

//go:embed report.html.tmpl
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

// Text is for a terminal, and for mail readers without HTML.
func (n Run) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n", n.Title())
	for _, s := range n.sections() {
		fmt.Fprintf(w, "\n%s\n", s.Title)
		if len(s.Rows) == 0 {
			fmt.Fprintf(w, "  %s\n", s.Nothing)
			continue
		}
		if len(s.Head) > 1 {
			fmt.Fprintf(w, "  %s\n", strings.ToUpper(strings.Join(s.Head, "\t")))
		}
		for _, row := range s.Rows {
			fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
		}
	}
	fmt.Fprintf(w, "\n%s\n", n.closing())
	return w.Flush()
}

// HTML has its styles within, for mail readers take no others.
func (n Run) HTML(out io.Writer) error {
	return pageTemplate.Execute(out, map[string]any{"Title": n.Title(), "Sections": n.sections(), "Closing": n.closing()})
}

// Mail is a message for `sendmail ADDRESS`: subject, text, and HTML.
func (n Run) Mail(out io.Writer) error {
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	// The same nightly run is the same message.
	if err := parts.SetBoundary(fmt.Sprintf("nightly-run-%d", n.At.UnixNano())); err != nil {
		return err
	}
	for _, p := range []struct {
		kind  string
		write func(io.Writer) error
	}{{"text/plain", n.Text}, {"text/html", n.HTML}} {
		w, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type": {p.kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"},
		})
		if err != nil {
			return err
		}
		q := quotedprintable.NewWriter(w)
		if err := p.write(q); err != nil {
			return err
		}
		if err := q.Close(); err != nil {
			return err
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "Subject: %s\r\nDate: %s\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=%q\r\n\r\n%s",
		mime.QEncoding.Encode("utf-8", n.Title()), n.At.UTC().Format("Mon, 02 Jan 2006 15:04:05 -0700"), parts.Boundary(), body.Bytes())
	return err
}
