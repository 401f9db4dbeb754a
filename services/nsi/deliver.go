package nsi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/millrace/millrace/internal/state"
	nsiv1 "github.com/millrace/millrace/proto/gen/millrace/nsi/v1"
	"github.com/millrace/millrace/services/nsi/soap"
)

// untold is the oldest message of a connection that was not delivered to its requester.
func untold(r *nsiv1.Connection) *nsiv1.Message {
	var first *nsiv1.Message
	for _, list := range [][]*nsiv1.Message{r.GetResults(), r.GetNotifications()} {
		for _, m := range list {
			if !m.GetTold() && (first == nil || m.GetId() < first.GetId()) {
				first = m
			}
		}
	}
	return first
}

// errLate: a message is not tried any more.
var errLate = errors.New("given up")

// deliver sends the oldest message that etcd has, and records that it was taken. The mirror may not have learned yet
// that it was. A process that dies in between sends it again.
func (c *Component) deliver(ctx context.Context, id string) error {
	r := &nsiv1.Connection{}
	if _, err := c.deps.State.Get(ctx, connections+id, r); err != nil {
		return err
	}
	m := untold(r)
	if m == nil {
		return nil
	}
	err := c.send(ctx, m)
	if err != nil && !errors.Is(err, errLate) {
		return err
	}
	return c.update(ctx, id, func(is *nsiv1.Connection) bool {
		first := untold(is)
		if first.GetId() != m.GetId() {
			return false
		}
		first.Told = true
		if errors.Is(err, errLate) {
			c.notify(is, "messageDeliveryTimeout", m.GetCorrelation())
		}
		return true
	})
}

// deliverAnswer is deliver of the answer to a query.
func (c *Component) deliverAnswer(ctx context.Context, key string) error {
	m := &nsiv1.Message{}
	if _, err := c.deps.State.Get(ctx, key, m); err != nil {
		return err
	}
	if err := c.send(ctx, m); err != nil && !errors.Is(err, errLate) {
		return err
	}
	return c.deps.State.Apply(ctx, state.Op{Key: key})
}

// send is one POST. It is errLate where it failed, and the message is too old to be tried again.
func (c *Component) send(ctx context.Context, m *nsiv1.Message) error {
	err := errors.New("this requester's callbacks do not go to " + m.GetReplyTo())
	if c.cfg.Requesters[m.GetRequester()].mayCall(m.GetReplyTo()) {
		err = c.post(ctx, m)
	}
	switch {
	case err == nil:
		c.metrics.messages.WithLabelValues("delivered").Inc()
	case ctx.Err() != nil:
	case c.deps.Now().Sub(m.GetTime().AsTime()) > c.cfg.GiveUp:
		c.metrics.messages.WithLabelValues("given-up").Inc()
		c.deps.Log.ErrorContext(ctx, "a message to an NSI requester is given up", "message", m.GetName(), "correlation", m.GetCorrelation(), "error", err)
		return errLate
	default:
		c.metrics.messages.WithLabelValues("failed").Inc()
	}
	return err
}

func (c *Component) post(ctx context.Context, m *nsiv1.Message) error {
	h := soap.Header{ProtocolVersion: soap.ToRequester, CorrelationID: m.GetCorrelation(), RequesterNSA: m.GetRequester(), ProviderNSA: c.cfg.NSA}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.GetReplyTo(), bytes.NewReader(soap.Envelope(h, m.GetBody())))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/xml; charset=utf-8")
	r.Header.Set("SOAPAction", `"`+soap.Actions+m.GetName()+`"`)
	r.Header.Set("User-Agent", "millrace-nsi")
	answer, err := c.client.Do(r)
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.URL.Host, err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<16) // so that the connection may be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", r.URL.Host, answer.Status)
	}
	return nil
}
