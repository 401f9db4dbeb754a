// Package trace follows one request through services, the bus and routers' agents, and sends its spans to an
// OpenTelemetry collector.
//
// In: where to send spans, and which share of traces; a context, and the W3C traceparent that came with a request, a
// message or a record. Out: spans over OTLP/HTTP. Next: a collector, and an operator who asks why a change set took
// long.
//
// It is off unless a process calls Start. Then no function here allocates.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// Configuration of a process's traces.
type Configuration struct {
	// Endpoint is the URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318.
	// Default none: nothing is traced.
	Endpoint string `yaml:"endpoint"`
	// Ratio is the share of traces that are sent, 0 to 1. A trace that another process began is sent where that one
	// sends it. Default 1.
	Ratio float64 `yaml:"ratio"`
	// FlowRatio is the share of batches of flow records of which a trace is begun. Default 0.001.
	FlowRatio float64 `yaml:"flow_ratio"`
}

// DefaultConfiguration traces nothing.
func DefaultConfiguration() Configuration { return Configuration{Ratio: 1, FlowRatio: 0.001} }

// Validate refuses what no collector could be reached by.
func (c Configuration) Validate() error {
	if c.Ratio < 0 || c.Ratio > 1 || c.FlowRatio < 0 || c.FlowRatio > 1 {
		return errors.New("tracing: ratio and flow_ratio are shares, from 0 to 1")
	}
	if c.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("tracing: endpoint %q: write the URL of a collector, such as http://127.0.0.1:4318", c.Endpoint)
	}
	return nil
}

// tracers are what Start made: one of everything, and one of batches of flows.
type tracers struct{ all, flows api.Tracer }

var running atomic.Pointer[tracers]

// Start sends spans of this process, as service, until stop.
func Start(ctx context.Context, c Configuration, service string, log *slog.Logger) (stop func(context.Context) error, err error) {
	if c.Endpoint == "" {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.Endpoint+"/v1/traces"))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", c.Endpoint, err)
	}
	host, _ := os.Hostname()
	of := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("host.name", host))
	batches := sdk.NewBatchSpanProcessor(logged{exporter, log})
	provider := func(ratio float64) *sdk.TracerProvider {
		return sdk.NewTracerProvider(sdk.WithResource(of), sdk.WithSpanProcessor(batches), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(ratio))))
	}
	all, flows := provider(c.Ratio), provider(c.FlowRatio)
	const name = "github.com/millrace/millrace"
	running.Store(&tracers{all.Tracer(name), flows.Tracer(name)})
	log.Info("traces are sent", "endpoint", c.Endpoint, "ratio", c.Ratio, "flow_ratio", c.FlowRatio)
	return func(ctx context.Context) error {
		running.Store(nil)
		return all.Shutdown(ctx) // and with it the one processor of both
	}, nil
}

// On reports whether this process sends traces.
func On() bool { return running.Load() != nil }

// Span is a step of a trace; the zero Span is of no trace.
type Span struct{ span api.Span }

// Root begins a span, of a new trace where ctx has none.
func Root(ctx context.Context, name string) (context.Context, Span) {
	t := running.Load()
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.all.Start(ctx, name)
	return ctx, Span{s}
}

// Flows begins a trace of a batch of flows, for the few that flow_ratio takes.
func Flows(ctx context.Context, name string) (context.Context, Span) {
	t := running.Load()
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := t.flows.Start(ctx, name)
	return ctx, Span{s}
}

// Child begins a span of the trace that ctx has, and none where it has none.
func Child(ctx context.Context, name string) (context.Context, Span) {
	if !On() || !api.SpanContextFromContext(ctx).IsSampled() {
		return ctx, Span{}
	}
	return Root(ctx, name)
}

// Sent reports whether somebody will see the span.
func (s Span) Sent() bool { return s.span != nil && s.span.IsRecording() }

// Set says something of the step.
func (s Span) Set(key, value string) {
	if s.Sent() {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// End ends the step, as failed where err is not nil.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// header is what W3C calls the text that names a span to another process.
const header = "traceparent"

// Parent is the traceparent of the span of ctx; empty where that is not sent.
func Parent(ctx context.Context) string {
	if !On() || !api.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header]
}

// Resume is ctx with the span that a traceparent names, whose children belong to it.
func Resume(ctx context.Context, parent string) context.Context {
	if parent == "" || !On() {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: parent})
}

// IDs are those of the trace and the span of ctx, for a line of a log; empty where it has none.
func IDs(ctx context.Context) (trace, span string) {
	if !On() || ctx == nil {
		return "", ""
	}
	c := api.SpanContextFromContext(ctx)
	if !c.IsSampled() {
		return "", ""
	}
	return c.TraceID().String(), c.SpanID().String()
}

// logged says in this process's log what the library would say on standard error.
type logged struct {
	sdk.SpanExporter
	log *slog.Logger
}

// ExportSpans implements sdk.SpanExporter.
func (l logged) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := l.SpanExporter.ExportSpans(ctx, spans); err != nil {
		l.log.Warn("traces not sent", "spans", len(spans), "error", err)
	}
	return nil
}
