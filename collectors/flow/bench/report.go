package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// report is what --json prints.
type report struct {
	Fields           int       `json:"fields_per_record"`
	FlowsPerDatagram int       `json:"flows_per_datagram"`
	Seconds          int       `json:"seconds_per_step"`
	Workers          int       `json:"workers"`
	Exporters        int       `json:"exporters"`
	Summary          []summary `json:"summary"`
	Steps            []result  `json:"steps"`
}

// summary is of one collector and format.
type summary struct {
	Format    string `json:"format"`
	Collector string `json:"collector"`
	// LossFree is the highest rate at which every flow sent was counted; 0 is none of those tried.
	LossFree int `json:"loss_free_flows_per_second"`
	// CPU is the least of any step without loss, else of any step.
	CPU float64 `json:"cpu_seconds_per_million"`
}

// add also shows the step at once: a run takes minutes.
func (r *report) add(step result, o options) {
	if !o.json {
		if len(r.Steps) == 0 {
			fmt.Printf("%d fields, %d flows per datagram, %d s per step, exporters: %d; sender on core %d, collector on core %s, millrace with %d workers.\n\n",
				r.Fields, r.FlowsPerDatagram, r.Seconds, r.Exporters, o.sender, o.collector, r.Workers)
			fmt.Println("| format | flows/s sent | collector | flows counted | lost | CPU s per million flows |")
			fmt.Println("|---|---:|---|---:|---:|---:|")
		}
		fmt.Printf("| %s | %d | %s | %d of %d | %.3f %% | %.2f |\n", step.Format, step.Rate, step.Collector, step.Counted, step.Sent, 100*step.loss(), step.CPU)
	}
	r.Steps = append(r.Steps, step)
	for i := range r.Summary {
		if s := &r.Summary[i]; s.Format == step.Format && s.Collector == step.Collector {
			s.add(step)
			return
		}
	}
	s := summary{Format: step.Format, Collector: step.Collector}
	s.add(step)
	r.Summary = append(r.Summary, s)
}

func (s *summary) add(step result) {
	clean := step.Counted == step.Sent
	if s.CPU == 0 || step.CPU < s.CPU && (clean || s.LossFree == 0) || clean && s.LossFree == 0 {
		s.CPU = step.CPU
	}
	if clean {
		s.LossFree = max(s.LossFree, step.Rate)
	}
}

func (r *report) print(out io.Writer, o options) error {
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	return nil
}
