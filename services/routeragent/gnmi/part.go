package gnmi

import (
	"fmt"
	"slices"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/services/routeragent/tree"
)

// Limits of sampling. An interval of 0 asks for the lowest the target supports.
const (
	lowestInterval  = 100 * time.Millisecond
	definedInterval = 10 * time.Second // TARGET_DEFINED counters
)

// part is one subscription of the list.
type part struct {
	path      tree.Path
	keep      tree.Filter
	onChange  bool
	suppress  bool
	interval  time.Duration // of samples; 0 for ON_CHANGE
	heartbeat time.Duration
	next      time.Time
	beat      time.Time
	last      map[string]leaf
}

func newParts(path tree.Path, q *gnmi.Subscription, mode gnmi.SubscriptionList_Mode) ([]*part, error) {
	p := &part{path: path, keep: tree.All, suppress: q.GetSuppressRedundant()}
	if mode != gnmi.SubscriptionList_STREAM {
		return []*part{p}, nil
	}
	var err error
	if p.heartbeat, err = interval(q.GetHeartbeatInterval()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%s: heartbeat: %v", path, err)
	}
	switch q.GetMode() {
	case gnmi.SubscriptionMode_SAMPLE:
		if p.interval, err = interval(q.GetSampleInterval()); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "%s: sample: %v", path, err)
		}
		if p.interval == 0 {
			p.interval = lowestInterval
		}
		return []*part{p}, nil
	case gnmi.SubscriptionMode_ON_CHANGE:
		if IsMeter(path.Schema()) {
			return nil, status.Errorf(codes.InvalidArgument, "%s changes with every packet; subscribe with SAMPLE", path)
		}
		p.onChange, p.keep = true, notMeter
		return []*part{p}, nil
	case gnmi.SubscriptionMode_TARGET_DEFINED:
		if q.GetSampleInterval() != 0 {
			return nil, status.Errorf(codes.InvalidArgument, "%s: TARGET_DEFINED takes no sample interval", path)
		}
		meters := &part{path: path, keep: IsMeter, interval: definedInterval, suppress: p.suppress, heartbeat: p.heartbeat}
		p.onChange, p.keep = true, notMeter
		return []*part{p, meters}, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "%s: mode %s", path, q.GetMode())
}

// interval reads nanoseconds; what is too small, or too large to be counted, is refused.
func interval(ns uint64) (time.Duration, error) {
	d := time.Duration(ns)
	if ns > 0 && d < lowestInterval {
		return 0, fmt.Errorf("interval of %d ns; the lowest is %s", ns, lowestInterval)
	}
	return d, nil
}

// IsMeter is true for leaves that change with every packet: counters, and the fill of queues.
func IsMeter(s *tree.Schema) bool {
	if s.Type == nil || s.Config {
		return false
	}
	return s.Type.Name == "counter64" || s.Name == "avg-queue-len" || s.Name == "max-queue-len" || s.Name == "queue-len"
}

func notMeter(s *tree.Schema) bool { return !IsMeter(s) }

func (p *part) leaves(data *tree.Node, enc gnmi.Encoding) map[string]leaf {
	out := map[string]leaf{}
	add := func(l tree.Match) {
		if !p.keep(l.Node.Schema) || (l.Path.IsListKey() && len(l.Path.Elems) > len(p.path.Elems)) {
			return
		}
		if v, ok := l.Node.Encode(tree.All, enc); ok {
			out[l.Path.String()] = leaf{l.Path, &gnmi.Update{Path: l.Path.Proto(), Val: v}, v.String()}
		}
	}
	for _, m := range data.Find(p.path) {
		m.Leaves(add)
	}
	for _, m := range unset(data, p.path, p.keep) {
		add(m)
	}
	return out
}

// changes compares a reading with the last one. A leaf that returned to its
// default is an update, never only a deletion (section 3.5.2.3).
func (p *part) changes(data *tree.Node, enc gnmi.Encoding, whole bool) (send, gone map[string]leaf) {
	now := p.leaves(data, enc)
	send, gone = map[string]leaf{}, map[string]leaf{}
	for k, l := range p.last {
		if _, ok := now[k]; ok {
			continue
		}
		if m := unset(data, l.path, p.keep); len(m) == 1 {
			v, _ := m[0].Node.Encode(tree.All, enc)
			now[k] = leaf{l.path, &gnmi.Update{Path: l.path.Proto(), Val: v}, v.String()}
			continue
		}
		gone[k] = l
	}
	for k, l := range now {
		if before, ok := p.last[k]; whole || !ok || before.text != l.text {
			send[k] = l
		}
	}
	p.last = now
	return send, p.deletions(gone, now)
}

// deletions names the list entry that went away, rather than each of its leaves.
func (p *part) deletions(gone, now map[string]leaf) map[string]leaf {
	if len(gone) == 0 {
		return nil
	}
	alive := map[string]bool{}
	for _, l := range now {
		for _, e := range entries(l.path, len(p.path.Elems)) {
			alive[e.String()] = true
		}
	}
	out := map[string]leaf{}
	for _, l := range gone {
		at := l.path
		if i := slices.IndexFunc(entries(l.path, len(p.path.Elems)), func(e tree.Path) bool { return !alive[e.String()] }); i >= 0 {
			at = entries(l.path, len(p.path.Elems))[i]
		}
		out[at.String()] = leaf{path: at}
	}
	return out
}

// entries are the list entries a path goes through, outermost first, none of them above what was subscribed to.
func entries(p tree.Path, from int) []tree.Path {
	var out []tree.Path
	for i := max(from, 1); i <= len(p.Elems); i++ {
		if p.Elems[i-1].Schema.Kind == tree.List {
			out = append(out, tree.Path{Elems: p.Elems[:i]})
		}
	}
	return out
}
