package alpha

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
	"github.com/millrace/millrace/services/alpha/detect"
	"github.com/millrace/millrace/services/alpha/replay"
)

const (
	keyEffectiveness = "alpha/effectiveness"
	// history is how far back the first evaluation looks: as long as the flow store keeps flows by default.
	history = 90 * aDay
	// keptDays bounds what is kept; older days are dropped.
	keptDays = 800
	// largestState is below what etcd takes in one value. It has room for about 20,000 pairs of each length.
	largestState = 1400 << 10
)

// Effectiveness implements AlphaService.
func (a *api) Effectiveness(ctx context.Context, req *connect.Request[alphav1.EffectivenessRequest]) (*connect.Response[alphav1.EffectivenessResponse], error) {
	m, err := a.c.effectiveness(ctx, req.Msg.GetStoredOnly())
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(m.GetJudged()), nil
}

// effectiveness judges the days that ended since it was last asked, each once, and stores what they came to with the
// pairs known after them. A day is over when its records have come: after the overlap of nightly runs.
func (c *Component) effectiveness(ctx context.Context, storedOnly bool) (*alphav1.EffectivenessState, error) {
	if storedOnly { // also while days are judged, which may take long
		m, _, err := c.judged(ctx)
		return m, err
	}
	c.judging.Lock()
	defer c.judging.Unlock()
	m, revision, err := c.judged(ctx)
	if err != nil {
		return m, err
	}
	to := midnight(c.deps.Now().Add(-c.cfg.Overlap))
	from := to.Add(-history)
	if m.GetUntil() != nil {
		from = m.GetUntil().AsTime()
	}
	if !from.Before(to) {
		return m, nil
	}
	players, err := c.pairsOfState(m)
	if err != nil {
		return m, err
	}
	nightlyRuns := [2]replay.Run{}
	err = c.nightlyRuns(ctx, from, to, players, func(rule int, n replay.Run) error {
		if nightlyRuns[rule] = n; rule == 1 {
			m.Judged.Days = append(m.Judged.Days, dayToProto(nightlyRuns))
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	return m, c.storeJudged(ctx, m, revision, to, players)
}

// judged is what is stored, or nothing where the rule is another than that of the stored days.
func (c *Component) judged(ctx context.Context) (*alphav1.EffectivenessState, int64, error) {
	rule := &alphav1.EffectivenessResponse{
		MinBytes: c.cfg.Rule.MinBytes, Interval: durationpb.New(c.cfg.Rule.Interval), AgeAfter: durationpb.New(c.cfg.Rule.AgeAfter),
	}
	m := &alphav1.EffectivenessState{}
	revision, err := c.deps.State.Get(ctx, keyEffectiveness, m)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		return m, 0, err
	}
	stored := proto.CloneOf(m.GetJudged())
	if stored == nil {
		stored = &alphav1.EffectivenessResponse{}
	}
	if stored.Days = nil; !state.SameKnown(stored, rule) {
		m = &alphav1.EffectivenessState{Judged: rule}
	}
	return m, revision, nil
}

// storeJudged leaves out the days before the first with an alpha flow. Where another replica was first, its days are
// the same.
func (c *Component) storeJudged(ctx context.Context, m *alphav1.EffectivenessState, revision int64, to time.Time, players []*replay.Player) error {
	days := m.Judged.Days
	for len(days) > 0 && (days[0].GetAlphaBytes() == 0 && days[0].GetPairs_24() == 0 || len(days) > keptDays) {
		days = days[1:]
	}
	m.Judged.Days, m.Until = days, timestamppb.New(to)
	m.Known_24, m.Known_32 = knownToProto(players[0].Pairs, m.Known_24), knownToProto(players[1].Pairs, m.Known_32)
	if n := forgetOldest(m); n > 0 {
		c.deps.Log.WarnContext(ctx, "pairs that are known for effectiveness take too much room: those seen longest ago are forgotten, so that what is caught is a lower bound",
			"forgotten", n, "octets", largestState)
	}
	_, err := c.deps.State.Put(ctx, keyEffectiveness, revision, m)
	if errors.Is(err, state.ErrConflict) {
		return nil
	}
	return err
}

// forgetOldest leaves out the pairs that were seen longest ago until the state fits, and returns how many.
func forgetOldest(m *alphav1.EffectivenessState) int {
	over := proto.Size(m) - largestState
	if over <= 0 {
		return 0
	}
	all := slices.Concat(m.GetKnown_24(), m.GetKnown_32())
	slices.SortStableFunc(all, func(a, b *alphav1.KnownPair) int { return a.GetLastSeen().AsTime().Compare(b.GetLastSeen().AsTime()) })
	gone := map[*alphav1.KnownPair]bool{}
	for _, k := range all {
		if over <= 0 {
			break
		}
		gone[k] = true
		over -= proto.Size(k) + 2 // with its field number and length
	}
	left := func(list []*alphav1.KnownPair) []*alphav1.KnownPair {
		return slices.DeleteFunc(list, func(k *alphav1.KnownPair) bool { return gone[k] })
	}
	m.Known_24, m.Known_32 = left(m.Known_24), left(m.Known_32)
	return len(gone)
}

// pairsOfState are two memories: under /24, and under /32.
func (c *Component) pairsOfState(m *alphav1.EffectivenessState) ([]*replay.Player, error) {
	var out []*replay.Player
	for _, p := range []struct {
		v4, v6 int
		known  []*alphav1.KnownPair
	}{{24, 48, m.GetKnown_24()}, {32, 64, m.GetKnown_32()}} {
		rule := c.cfg.Rule
		rule.IPv4Length, rule.IPv6Length = p.v4, p.v6
		player := newPlayer(rule)
		for _, k := range p.known {
			pair, err := knownFromProto(rule, k)
			if err != nil {
				return nil, err
			}
			player.Pairs = append(player.Pairs, pair)
		}
		out = append(out, player)
	}
	return out, nil
}

// knownToProto are the pairs that are known now; what a newer process has added to those of before stays.
func knownToProto(pairs []detect.Pair, former []*alphav1.KnownPair) []*alphav1.KnownPair {
	id := func(k *alphav1.KnownPair) string {
		return fmt.Sprintf("%x %x %x", k.GetExporter(), k.GetSrc(), k.GetDst())
	}
	was := map[string]*alphav1.KnownPair{}
	for _, k := range former {
		was[id(k)] = k
	}
	out := make([]*alphav1.KnownPair, len(pairs))
	for i, p := range pairs {
		out[i] = &alphav1.KnownPair{
			Exporter: p.Key.Exporter.AsSlice(), Src: p.Key.Prefixes.Src.Addr().AsSlice(), Dst: p.Key.Prefixes.Dst.Addr().AsSlice(),
			LastSeen: timestamppb.New(p.LastSeen),
		}
		state.KeepUnknown(was[id(out[i])], out[i])
	}
	return out
}

func knownFromProto(rule detect.Rule, k *alphav1.KnownPair) (detect.Pair, error) {
	exporter, ok1 := netip.AddrFromSlice(k.GetExporter())
	src, ok2 := netip.AddrFromSlice(k.GetSrc())
	dst, ok3 := netip.AddrFromSlice(k.GetDst())
	key, ok4 := rule.KeyOf(detect.Sum{Exporter: exporter, Flow: detect.Flow{Src: netip.AddrPortFrom(src, 0), Dst: netip.AddrPortFrom(dst, 0)}})
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return detect.Pair{}, errors.New("a stored pair has no addresses of one family")
	}
	return detect.Pair{Key: key, LastSeen: k.GetLastSeen().AsTime()}, nil
}

func dayToProto(n [2]replay.Run) *alphav1.EffectivenessDay {
	return &alphav1.EffectivenessDay{
		Day: timestamppb.New(n[0].Day), AlphaBytes: n[0].AlphaBytes, Caught_24Bytes: n[0].CaughtBytes, Caught_32Bytes: n[1].CaughtBytes,
		Pairs_24: uint32(n[0].Known), Pairs_32: uint32(n[1].Known),
	}
}
