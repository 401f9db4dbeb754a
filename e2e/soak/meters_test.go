package soak

import (
	"time"

	"github.com/millrace/millrace/e2e/plane"
)

// database is what etcd uses of its file.
const database = "octets in use"

// sample reads every process that answers, and etcd.
func (w *world) sample() {
	minute := time.Since(w.begin).Minutes()
	for _, service := range services {
		w.meters.Sample(service, w.URL(service), minute)
	}
	if octets, known := w.Etcd.InUse(); known {
		w.meters.Add(plane.Series{Process: "etcd", What: database}, 0, plane.Reading{At: minute, Value: float64(octets)})
	}
}
