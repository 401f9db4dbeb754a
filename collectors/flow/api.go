package flow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/millrace/millrace/collectors/flow/exporter"
	"github.com/millrace/millrace/collectors/flow/worker"
	"github.com/millrace/millrace/internal/bus"
	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// api serves FlowCollectorService.
type api struct{ c *Component }

// Import implements FlowCollectorService. It answers once every batch is kept: a client without an answer sends them
// again.
func (a *api) Import(ctx context.Context, stream *connect.ClientStream[flowv1.ImportRequest]) (*connect.Response[flowv1.ImportResponse], error) {
	answer, receipt := &flowv1.ImportResponse{}, &bus.Receipt{}
	for stream.Receive() {
		batch := stream.Msg().GetBatch()
		block, err := a.c.checkImport(batch, time.Now())
		if err != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, err)
		}
		message := &flowv1.FlowBatch{BatchId: batch.GetBatchId(), Block: block.AppendNative(nil), Quality: importedHours(batch)}
		first := block.Record(0)
		if err := a.c.deps.Bus.PublishKept(ctx, receipt, bus.TopicFlows, first.Exporter.String(), message); err != nil {
			return nil, connect.NewError(connect.CodeUnavailable, err)
		}
		a.c.metrics.published.Add(float64(block.Rows()))
		answer.Batches++
		answer.Records += uint64(block.Rows())
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if err := receipt.Wait(ctx); err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, fmt.Errorf("batches are not stored yet, import them again: %w", err))
	}
	return connect.NewResponse(answer), nil
}

// Quality implements FlowCollectorService.
func (a *api) Quality(context.Context, *connect.Request[flowv1.QualityRequest]) (*connect.Response[flowv1.QualityResponse], error) {
	answer := &flowv1.QualityResponse{SocketDrops: a.c.dropped()}
	for _, s := range slices.Concat(a.c.counts...) {
		answer.Sockets = append(answer.Sockets, &flowv1.CollectorSocket{
			Listen: s.listen, Worker: uint32(s.worker), Datagrams: s.datagrams.Load(), Drops: s.drops.Load(),
		})
	}
	for _, q := range a.c.table.Quality(time.Now()) {
		e := qualityToProto(q)
		e.Worker = uint32(worker.Of(q.Exporter, a.c.cfg.Workers))
		answer.Exporters = append(answer.Exporters, e)
	}
	return connect.NewResponse(answer), nil
}

func qualityToProto(q exporter.Quality) *flowv1.ExporterQuality {
	return &flowv1.ExporterQuality{
		Exporter:          q.Exporter.String(),
		ObservationDomain: q.Domain,
		Source:            flowv1.Source(q.Source),
		Datagrams:         q.Datagrams,
		Records:           q.Records,
		RecordsPerSecond:  q.RecordsPerSecond,
		Lost:              q.Lost,
		LossRatio:         q.LossRatio,
		Templates:         uint32(q.Templates),
		SamplingRate:      q.SamplingRate,
		Drops:             q.Drops,
		Events:            q.Events,
		LastSeen:          timestamppb.New(q.LastSeen),
		UnknownRate:       q.UnknownRate,
	}
}
