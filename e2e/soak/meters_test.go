package soak

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// meters are readings of what processes need.
type meters struct {
	mu     sync.Mutex
	series map[series][]life
}

// series is one quantity of one process.
type series struct{ process, what string }

// life is the readings between two starts of a process.
type life struct {
	started  float64
	readings []reading
}

// reading is a value at minutes since the run began.
type reading struct{ minute, value float64 }

// quantities by the metric that has them.
var quantities = map[string]string{
	"process_resident_memory_bytes": resident,
	"go_goroutines":                 goroutines,
	"process_open_fds":              descriptors,
}

const (
	resident    = "memory"
	goroutines  = "goroutines"
	descriptors = "file descriptors"
	database    = "octets in use"
)

// sample reads every process that answers, and etcd.
func (w *world) sample() {
	minute := time.Since(w.begin).Minutes()
	for _, service := range services {
		values := scrape(w.URL(service) + "/metrics")
		started, known := values["process_start_time_seconds"]
		if !known {
			continue // away
		}
		for metric, what := range quantities {
			w.meters.add(series{service, what}, started, reading{minute, values[metric]})
		}
	}
	if octets, known := w.Etcd.InUse(); known {
		w.meters.add(series{"etcd", database}, 0, reading{minute, float64(octets)})
	}
}

func (m *meters) add(s series, started float64, r reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.series == nil {
		m.series = map[series][]life{}
	}
	lives := m.series[s]
	if len(lives) == 0 || lives[len(lives)-1].started != started {
		lives = append(lives, life{started: started})
	}
	last := &lives[len(lives)-1]
	last.readings = append(last.readings, r)
	m.series[s] = lives
}

// of all series, in the order of their names.
func (m *meters) of() []series {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []series
	for s := range m.series {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b series) int { return cmp.Or(cmp.Compare(a.what, b.what), cmp.Compare(a.process, b.process)) })
	return out
}

// scrape reads metrics without labels; none where the process does not answer in time.
func scrape(url string) map[string]float64 {
	client := http.Client{Timeout: 3 * time.Second}
	r, err := client.Get(url)
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	return parse(r.Body)
}

func parse(text io.Reader) map[string]float64 {
	out := map[string]float64{}
	for lines := bufio.NewScanner(text); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil && !strings.HasPrefix(name, "#") {
			out[name] = v
		}
	}
	return out
}
