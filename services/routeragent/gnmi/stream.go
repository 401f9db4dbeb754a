package gnmi

import (
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream serves STREAM until the client goes.
func (u *subscriber) stream() error {
	// Watch first, read then: a change between the two is seen twice rather than never.
	config, wake := u.server.deps.Store.Changed(), u.server.deps.Wake.Wait()
	if err := u.round(u.out.Context(), u.list.GetUpdatesOnly()); err != nil {
		return err
	}
	now := time.Now()
	for _, p := range u.parts {
		p.next, p.beat = now.Add(p.interval), now.Add(p.heartbeat)
	}
	intruder := u.receive()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(u.untilDue())
		changed := false
		select {
		case <-u.out.Context().Done():
			return nil
		case err := <-intruder:
			return err
		case <-timer.C:
		case <-config:
			config, changed = u.server.deps.Store.Changed(), true
		case <-wake:
			time.Sleep(settle) // a link going down is a dozen messages
			wake, changed = u.server.deps.Wake.Wait(), true
		}
		if err := u.serve(changed); err != nil {
			return err
		}
	}
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
	if p.interval > 0 {
		t = p.next
	}
	if p.heartbeat > 0 && (t.IsZero() || p.beat.Before(t)) {
		t = p.beat
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

// serve sends what is due: samples and heartbeats whole, changes as differences.
func (u *subscriber) serve(changed bool) error {
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
	for _, p := range due {
		if err := u.servePart(p, p.leaves(data, u.list.GetEncoding()), now); err != nil {
			return err
		}
	}
	return nil
}

func (u *subscriber) servePart(p *part, leaves map[string]leaf, now time.Time) error {
	whole := p.interval > 0 && !p.suppress
	if p.interval > 0 && !p.next.After(now) {
		p.next = now.Add(p.interval)
	}
	if p.heartbeat > 0 && !p.beat.After(now) {
		p.beat, whole = now.Add(p.heartbeat), true
	}
	gone := map[string]leaf{}
	for k, l := range p.last {
		if _, ok := leaves[k]; !ok {
			gone[k] = l
		}
	}
	send := leaves
	if !whole {
		send = map[string]leaf{}
		for k, l := range leaves {
			if p.last[k].text != l.text {
				send[k] = l
			}
		}
	}
	p.last = leaves
	return u.send(send, gone)
}

// maxUpdates bounds one message.
const maxUpdates = 2000

func (u *subscriber) send(leaves, gone map[string]leaf) error {
	if len(leaves) == 0 && len(gone) == 0 {
		return nil
	}
	n := u.notification()
	for _, k := range slices.Sorted(maps.Keys(gone)) {
		n.Delete = append(n.Delete, gone[k].update.GetPath())
	}
	for _, k := range slices.Sorted(maps.Keys(leaves)) {
		if len(n.Update) == maxUpdates {
			if err := u.out.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}}); err != nil {
				return err
			}
			n = u.notification()
		}
		n.Update = append(n.Update, leaves[k].update)
	}
	return u.out.Send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_Update{Update: n}})
}

func (u *subscriber) notification() *gnmi.Notification {
	return &gnmi.Notification{Timestamp: time.Now().UnixNano(), Prefix: replyPrefix(u.list.GetPrefix())}
}
