package gnmi

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// settle is how long after a change of links more of them are waited for: a link going down is a dozen messages.
const settle = 50 * time.Millisecond

// stream serves STREAM until the client goes.
func (u *subscriber) stream() error {
	// Watch first, read then: a change between the two is seen twice rather than never.
	config, wake := u.server.deps.Store.Changed(), u.server.deps.Wake.Wait()
	if err := u.round(u.out.Context()); err != nil {
		return err
	}
	now := time.Now()
	for _, p := range u.parts {
		p.next, p.beat, p.look = now.Add(p.interval), now.Add(p.heartbeat), now.Add(u.server.lookEvery)
	}
	box := newOutbox()
	sent, intruder := u.deliver(box), u.receive()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(u.untilDue())
		changed := false
		select {
		case <-u.out.Context().Done():
			return nil
		case err := <-sent:
			return err
		case err := <-intruder:
			return err
		case <-timer.C:
		case <-config:
			config, changed = u.server.deps.Store.Changed(), true
		case <-wake:
			select {
			case <-u.out.Context().Done():
				return nil
			case <-time.After(settle):
			}
			wake, changed = u.server.deps.Wake.Wait(), true
		}
		if err := u.serve(box, changed); err != nil {
			return err
		}
	}
}

// deliver sends what the outbox holds for as long as the client reads. A
// client that does not read blocks this goroutine and nothing else.
func (u *subscriber) deliver(box *outbox) <-chan error {
	out := make(chan error, 1)
	go func() {
		for {
			select {
			case <-u.out.Context().Done():
				return
			case <-box.filled:
			}
			for _, n := range box.take() {
				n.Prefix = replyPrefix(u.list.GetPrefix())
				if err := u.sendOne(n); err != nil {
					out <- err
					return
				}
			}
		}
	}()
	return out
}

// receive watches for what a client must not send any more (section 3.5.1.1).
func (u *subscriber) receive() <-chan error {
	out := make(chan error, 1)
	go func() {
		_, err := u.out.Recv()
		if err == nil {
			out <- status.Error(codes.InvalidArgument, "a Subscribe call takes one subscription list")
		} else if !errors.Is(err, io.EOF) {
			out <- nil
		}
	}()
	return out
}

// due is when a part wants to be served by the clock; zero if never.
func (p *part) due() time.Time {
	var t time.Time
	for _, clock := range []struct {
		runs bool
		at   time.Time
	}{{p.interval > 0, p.next}, {p.heartbeat > 0, p.beat}, {p.looks, p.look}} {
		if clock.runs && (t.IsZero() || clock.at.Before(t)) {
			t = clock.at
		}
	}
	return t
}

const idle = time.Hour

func (u *subscriber) untilDue() time.Duration {
	wait := idle
	for _, p := range u.parts {
		if t := p.due(); !t.IsZero() {
			wait = min(wait, time.Until(t))
		}
	}
	return max(wait, 0)
}

// serve puts out what is due: samples and heartbeats whole, changes as differences.
func (u *subscriber) serve(box *outbox, changed bool) error {
	now := time.Now()
	var due []*part
	for _, p := range u.parts {
		if t := p.due(); (!t.IsZero() && !t.After(now)) || (changed && p.onChange) {
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return nil
	}
	data, err := u.read(u.out.Context(), due)
	if err != nil {
		return err
	}
	look := time.Now().Add(u.server.lookEvery)
	if changed {
		look = time.Now().Add(u.server.lookAfter)
	}
	for _, p := range due {
		p.look = look
		send, gone := p.changes(data, u.list.GetEncoding())
		if p.whole(now) {
			send = p.all(data, u.list.GetEncoding())
		}
		p.last = data
		if err := box.put(now.UnixNano(), send, gone); err != nil {
			return err
		}
	}
	return nil
}

// whole is true if unchanged leaves are sent too; it winds the part's clocks.
func (p *part) whole(now time.Time) bool {
	whole := p.interval > 0 && !p.suppress
	if p.interval > 0 && !p.next.After(now) {
		p.next = now.Add(p.interval)
	}
	if p.heartbeat > 0 && !p.beat.After(now) {
		p.beat, whole = now.Add(p.heartbeat), true
	}
	return whole
}
