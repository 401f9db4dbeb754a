package plane

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Meters are readings of what processes need.
type Meters struct {
	mu     sync.Mutex
	series map[Series][]Life
}

// Series is one quantity of one process.
type Series struct{ Process, What string }

// Life is the readings between two starts of a process.
type Life struct {
	started  float64
	Readings []Reading
}

// Reading is a value at a time since the run began, in any unit.
type Reading struct{ At, Value float64 }

// quantities by the metric that has them.
var quantities = map[string]string{
	"process_resident_memory_bytes": Resident,
	"go_goroutines":                 Goroutines,
	"process_open_fds":              Descriptors,
}

// Quantities of a process.
const (
	Resident    = "memory"
	Goroutines  = "goroutines"
	Descriptors = "file descriptors"
)

// Sample reads a process that answers.
func (m *Meters) Sample(process, url string, at float64) {
	values := Scrape(url + "/metrics")
	started, known := values["process_start_time_seconds"]
	if !known {
		return // away
	}
	for metric, what := range quantities {
		m.Add(Series{process, what}, started, Reading{at, values[metric]})
	}
}

// Add takes a reading of a process that started at a time.
func (m *Meters) Add(s Series, started float64, r Reading) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.series == nil {
		m.series = map[Series][]Life{}
	}
	lives := m.series[s]
	if len(lives) == 0 || lives[len(lives)-1].started != started {
		lives = append(lives, Life{started: started})
	}
	last := &lives[len(lives)-1]
	last.Readings = append(last.Readings, r)
	m.series[s] = lives
}

// Lives are those of a series.
func (m *Meters) Lives(s Series) []Life {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.series[s]
}

// Scrape reads metrics without labels; none where the process does not answer in time.
func Scrape(url string) map[string]float64 {
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
