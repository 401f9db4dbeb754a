package alpha

import (
	"fmt"
	"net/netip"

	flowv1 "github.com/millrace/millrace/proto/gen/millrace/flow/v1"
)

// judge returns the exporters whose flows may be incomplete, and why. An exporter
// without an entry in the collector was imported from files and passes.
func (g Gate) judge(quality []*flowv1.ExporterQuality) map[netip.Addr]string {
	refused := map[netip.Addr]string{}
	for _, q := range quality {
		exporter, err := netip.ParseAddr(q.GetExporter())
		reason := g.reason(q)
		if err != nil || reason == "" {
			continue
		}
		exporter = exporter.Unmap()
		// One bad observation domain is enough; the first is reported.
		if refused[exporter] == "" {
			refused[exporter] = fmt.Sprintf("observation domain %d: %s", q.GetObservationDomain(), reason)
		}
	}
	return refused
}

func (g Gate) reason(q *flowv1.ExporterQuality) string {
	switch {
	case needsTemplates(q.GetSource()) && q.GetTemplates() == 0:
		return "the collector holds no valid template of it, so its records cannot be decoded; wait until the exporter sends its templates again, or restart it"
	case q.GetLossRatio() > g.MaxLoss:
		return fmt.Sprintf("%.2f %% of its export is missing, the limit is %.2f %%; look for drops on the way and at the collector's socket",
			100*q.GetLossRatio(), 100*g.MaxLoss)
	case q.GetSamplingRate() == 0 && !g.AllowUnknownSampling:
		return "its sampling rate is unknown, so its byte counts are; have it export sampling options, or allow unknown sampling"
	}
	return ""
}

func needsTemplates(s flowv1.Source) bool {
	return s == flowv1.Source_SOURCE_NETFLOW_V9 || s == flowv1.Source_SOURCE_IPFIX
}
