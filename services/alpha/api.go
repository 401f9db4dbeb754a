package alpha

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/internal/state"
	alphav1 "github.com/millrace/millrace/proto/gen/millrace/alpha/v1"
)

// api serves AlphaService.
type api struct{ c *Component }

// Nightly implements AlphaService.
func (a *api) Nightly(ctx context.Context, req *connect.Request[alphav1.NightlyRequest]) (*connect.Response[alphav1.NightlyResponse], error) {
	out, err := a.c.run(ctx, req.Msg)
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(out), nil
}

// List implements AlphaService.
func (a *api) List(ctx context.Context, _ *connect.Request[alphav1.ListRequest]) (*connect.Response[alphav1.ListResponse], error) {
	pairs, err := a.c.pairs(ctx)
	if err != nil {
		return nil, coded(err)
	}
	return connect.NewResponse(&alphav1.ListResponse{Pairs: pairs}), nil
}

// Explain implements AlphaService.
func (a *api) Explain(ctx context.Context, req *connect.Request[alphav1.ExplainRequest]) (*connect.Response[alphav1.ExplainResponse], error) {
	pairs, err := a.c.pairs(ctx)
	if err != nil {
		return nil, coded(err)
	}
	p, err := pick(pairs, strings.TrimSpace(req.Msg.GetPair()))
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&alphav1.ExplainResponse{Pair: p}), nil
}

// pairs in force; when they age out follows the ageing interval of now, not of the run that stored them.
func (c *Component) pairs(ctx context.Context) ([]*alphav1.Pair, error) {
	r, err := c.memory().read(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range r.pairs {
		p.AgesOut = timestamppb.New(p.GetLastSeen().AsTime().Add(c.cfg.Rule.AgeAfter))
	}
	return r.pairs, nil
}

// coded keeps the code of an error from another service and gives the rest one.
func coded(err error) error {
	var inner *connect.Error
	switch {
	case errors.As(err, &inner):
		return connect.NewError(inner.Code(), err)
	case errors.Is(err, state.ErrConflict):
		return connect.NewError(connect.CodeAborted, fmt.Errorf("another nightly run finished first; repeat: %w", err))
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	}
	return connect.NewError(connect.CodeInternal, err)
}

// pick finds the pair by id, unique start of an id, or "source,destination",
// where each end is a prefix or an address within it.
func pick(pairs []*alphav1.Pair, s string) (*alphav1.Pair, error) {
	var hits []*alphav1.Pair
	src, dst, ends := strings.Cut(s, ",")
	for _, p := range pairs {
		if p.GetId() == s {
			return p, nil
		}
		if (ends && within(src, p.GetSrc()) && within(dst, p.GetDst())) || (!ends && s != "" && strings.HasPrefix(p.GetId(), s)) {
			hits = append(hits, p)
		}
	}
	switch len(hits) {
	case 0:
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("no pair %q in force; `millrace alpha list` shows all", s))
	case 1:
		return hits[0], nil
	}
	return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%q fits %d pairs; give one of the ids %s", s, len(hits), ids(hits)))
}

func within(s, prefix string) bool {
	s = strings.TrimSpace(s)
	if s == prefix {
		return true
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return false
	}
	p, err := netip.ParsePrefix(prefix)
	return err == nil && p.Contains(a)
}

func ids(pairs []*alphav1.Pair) string {
	var out []string
	for _, p := range pairs {
		out = append(out, p.GetId())
	}
	return strings.Join(out, ", ")
}
