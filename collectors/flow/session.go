package flow

import (
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/collectors/flow/decode"
	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/internal/flowrecord"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// sharedOf is a session as etcd has it.
func sharedOf(s exporter.SessionState) *flowv1.SharedSession {
	out := &flowv1.SharedSession{
		From: s.From.String(), Source: flowv1.Source(s.Source), Domain: s.Domain, LastSeen: stampOf(s.LastSeen), Proven: s.Proven, Boot: stampOf(s.Boot),
		Samplers: s.Samplers, Interfaces: s.Interfaces, Rate: s.Rate, V5Rate: s.V5Rate,
		SamplersAt: s.SamplersAt, InterfacesAt: s.InterfacesAt, RateAt: s.RateAt,
	}
	for _, d := range s.Templates {
		out.Templates = append(out.Templates, &flowv1.SharedTemplate{
			Set: uint32(d.Set), Id: uint32(d.ID), Fields: uint32(d.Fields), Scopes: uint32(d.Scopes), Specs: d.Specs, At: stampOf(d.At),
		})
	}
	return out
}

// sessionOf is what another collector has written.
func sessionOf(m *flowv1.SharedSession) (exporter.SessionState, error) {
	from, err := netip.ParseAddrPort(m.GetFrom())
	if err != nil {
		return exporter.SessionState{}, fmt.Errorf("the exporter's address: %w", err)
	}
	out := exporter.SessionState{
		From: from, Source: flowrecord.Source(m.GetSource()), Domain: m.GetDomain(), LastSeen: timeOf(m.GetLastSeen()), Proven: m.GetProven(), Boot: timeOf(m.GetBoot()),
		Samplers: m.GetSamplers(), Interfaces: m.GetInterfaces(), Rate: m.GetRate(), V5Rate: m.GetV5Rate(),
		SamplersAt: m.GetSamplersAt(), InterfacesAt: m.GetInterfacesAt(), RateAt: m.GetRateAt(),
	}
	for _, t := range m.GetTemplates() {
		out.Templates = append(out.Templates, decode.Definition{
			Source: out.Source, Domain: out.Domain, Set: uint16(t.GetSet()), ID: uint16(t.GetId()), Fields: int(t.GetFields()), Scopes: int(t.GetScopes()),
			Specs: t.GetSpecs(), At: timeOf(t.GetAt()),
		})
	}
	return out, nil
}

// stampOf is absent for no time.
func stampOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeOf(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}
