package routeragent_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/millrace/millrace/internal/testkit/await"
)

// Prometheus sees calls and drift, and a watchdog sees a router that differs from its configuration.
func TestMetricsAndHealthAreServed(t *testing.T) {
	x := newTarget(t)
	x.stop()
	x.cfg.Metrics, x.registry = "127.0.0.1:0", prometheus.NewRegistry()
	x.start()
	x.must(t, "update / "+hntes("95"))
	page := func(path string) (int, string) {
		r, err := http.Get("http://" + x.agent.MetricsAddress() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
	_, text := page("/metrics")
	for _, want := range []string{`millrace_services_routeragent_calls_total{code="OK",method="Set"} 1`, "millrace_services_routeragent_drift 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if code, text := page("/healthz"); code != http.StatusOK {
		t.Errorf("health of a router in order: %d %s", code, text)
	}
	x.hide()
	await.True(t, "drift is seen", func() bool {
		_, text := page("/metrics")
		return strings.Contains(text, "\nmillrace_services_routeragent_drift 1\n")
	})
	if code, text := page("/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(text, "differs") {
		t.Errorf("health of a router without a port: %d %s", code, text)
	}
	for service, want := range map[string]healthpb.HealthCheckResponse_ServingStatus{
		"gnmi.gNMI": healthpb.HealthCheckResponse_NOT_SERVING, "": healthpb.HealthCheckResponse_SERVING,
	} {
		await.True(t, fmt.Sprintf("gRPC health of %q is %s", service, want), func() bool {
			h, err := healthpb.NewHealthClient(x.conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
			return err == nil && h.GetStatus() == want
		})
	}
}
