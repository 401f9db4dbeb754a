// Package webhook notifies programs elsewhere of changes, by signed HTTP requests as the Standard Webhooks
// specification has them (https://www.standardwebhooks.com).
//
// In: messages, one after the other. Out: POST requests, each repeated with growing pauses until it is answered with
// success or given up. Next: services/circuits, which keeps in etcd up to where a target was notified.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Message is what a target is sent.
type Message struct {
	// ID is the same each time the message is sent.
	ID   string
	Body []byte
}

// Pace is how long a sender waits.
type Pace struct {
	// Answer is how long a target may take for its answer.
	Answer time.Duration
	// First and Most are the pauses after the first and after many failures; they double in between.
	First, Most time.Duration
	// GiveUp is after how long a message is not tried any more.
	GiveUp time.Duration
}

// DefaultPace gives a target 24 hours.
func DefaultPace() Pace {
	return Pace{Answer: 10 * time.Second, First: time.Second, Most: 5 * time.Minute, GiveUp: 24 * time.Hour}
}

// Sender sends to one target.
type Sender struct {
	target Target
	pace   Pace
	signer *standardwebhooks.Webhook
	client *http.Client
}

// New reads the target's secret.
func New(t Target, pace Pace) (*Sender, error) {
	s := &Sender{target: t, pace: pace}
	var err error
	if s.signer, err = t.signer(); err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: pace.Answer, Control: s.reachable}
	s.client = &http.Client{
		Timeout: pace.Answer,
		// No proxy: it would be asked to reach what this process may not. No redirect: it could lead there, too.
		Transport:     &http.Transport{DialContext: dialer.DialContext, TLSHandshakeTimeout: pace.Answer, ForceAttemptHTTP2: true, MaxIdleConns: 1},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

// reachable looks at the address that a name was resolved to, so that no name leads to where no address may.
func (s *Sender) reachable(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return err
	case !s.target.Private && !public(at.Addr()):
		return fmt.Errorf("%s is no public address; private: true allows it", at.Addr())
	}
	return nil
}

// Deliver sends a message until it is accepted; given up, the last error is returned. failed gets every failure.
// It is false where ctx has ended before.
func (s *Sender) Deliver(ctx context.Context, m Message, failed func(error)) (ended bool, err error) {
	begun, pause := time.Now(), s.pace.First
	for {
		after, err := s.once(ctx, m)
		if err == nil {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, nil
		}
		failed(err)
		// Some of the pause is left to chance, so that many senders do not come at once.
		wait := max(pause/2+rand.N(pause/2+1), min(after, s.pace.Most))
		if time.Since(begun)+wait > s.pace.GiveUp {
			return true, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false, nil
		}
		pause = min(2*pause, s.pace.Most)
	}
}

// once sends a message once. It returns the target's Retry-After.
func (s *Sender) once(ctx context.Context, m Message) (after time.Duration, err error) {
	now := time.Now()
	signature, err := s.signer.Sign(m.ID, now, m.Body)
	if err != nil {
		return 0, fmt.Errorf("sign a message: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.URL, bytes.NewReader(m.Body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "millrace-circuits")
	r.Header.Set(standardwebhooks.HeaderWebhookID, m.ID)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	answer, err := s.client.Do(r)
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err // without the URL, in which there may be a token
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", r.URL.Host, err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 1<<16) // so that the connection may be used again
	if answer.StatusCode/100 == 2 {
		return 0, nil
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return time.Duration(min(max(seconds, 0), 3600)) * time.Second, fmt.Errorf("%s answers %s", r.URL.Host, answer.Status)
}
