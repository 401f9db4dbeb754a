package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// A host's datagram streams run in one program, whatever their number: a
// program per stream takes a User-Mode Linux guest longer to start than a
// phase lasts, and each costs wake-ups of its own.

// streamJob is what one host sends and receives in a phase; JSON on the
// program's standard input.
type streamJob struct {
	Sources []streamSource `json:"sources,omitempty"`
	Sinks   []streamSink   `json:"sinks,omitempty"`
}

// streamSource sends packets of one size at one rate.
type streamSource struct {
	Name   string `json:"name"`
	Target string `json:"target"` // address:port
	// Packets per second; Size is the payload in bytes.
	Packets float64 `json:"packets"`
	Size    int     `json:"size"`
	DSCP    int     `json:"dscp"`
	// Tick is the least time between batches.
	Tick time.Duration `json:"tick"`
	// Class is the minor number of the stream's HTB class on a paced host, 0 on another; Ahead is how long before its
	// departure a packet is handed to the kernel.
	Class uint32        `json:"class,omitempty"`
	Ahead time.Duration `json:"ahead,omitempty"`
	// Start and Stop count from the moment that follows the job on standard input.
	Start time.Duration `json:"start"`
	Stop  time.Duration `json:"stop"`
}

// streamSink receives one stream.
type streamSink struct {
	Name string        `json:"name"`
	Port int           `json:"port"`
	Stop time.Duration `json:"stop"`
}

// streamReport is what a host's program prints at the end, by stream.
type streamReport struct {
	Sent     map[string]*sentStream     `json:"sent,omitempty"`
	Received map[string]*receivedStream `json:"received,omitempty"`
}

// guestStreams reads a job, says "ready", reads the time of the start and runs.
func guestStreams([]string) error {
	in := json.NewDecoder(os.Stdin)
	var job streamJob
	if err := in.Decode(&job); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	report := streamReport{Sent: map[string]*sentStream{}, Received: map[string]*receivedStream{}}
	var run []func(time.Time) error
	for _, s := range job.Sinks {
		r := &receivedStream{}
		report.Received[s.Name] = r
		conn, err := s.listen()
		if err != nil {
			return err
		}
		run = append(run, func(t time.Time) error { return s.receive(conn, t, r) })
	}
	for _, s := range job.Sources {
		r := &sentStream{}
		report.Sent[s.Name] = r
		conn, err := s.dial()
		if err != nil {
			return err
		}
		run = append(run, func(t time.Time) error { return s.send(conn, t, r) })
	}
	fmt.Fprintln(os.Stderr, "ready")
	start, err := readStart(in)
	if err != nil {
		return err
	}
	failures := make([]error, len(run))
	var wait sync.WaitGroup
	for i, f := range run {
		wait.Go(func() { failures[i] = f(start) })
	}
	wait.Wait()
	return errors.Join(errors.Join(failures...), json.NewEncoder(os.Stdout).Encode(report))
}
