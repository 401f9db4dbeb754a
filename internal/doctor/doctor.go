// Package doctor says what is wrong with an installation and what to do about it.
//
// In: what somebody has looked up of a host, a configuration, a router or a control plane.
// Out: findings, each with a remedy and, where there is one, a runbook.
// Next: millrace doctor, millrace support-bundle.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Level is how bad a finding is.
type Level string

// The levels. What is wrong keeps something from working; a warning will, or already costs something.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Wrong   Level = "wrong"
)

// Finding is one thing that was looked at.
type Finding struct {
	// Area is kernel, clock, certificates, stores, exporters, routers, versions, configuration or control plane.
	Area string `json:"area"`
	// Subject is the file, address or router in question; empty where there is one only.
	Subject string `json:"subject,omitempty"`
	Level   Level  `json:"level"`
	// What is found, in a sentence.
	What string `json:"what"`
	// Do is the remedy; empty where nothing is to be done.
	Do string `json:"do,omitempty"`
	// Runbook is the name of the alert whose page has more; empty where there is none.
	Runbook string `json:"runbook,omitempty"`
}

// Areas are in the order in which they are printed: what others stand on comes first.
var Areas = []string{"configuration", "kernel", "clock", "disk", "certificates", "stores", "control plane", "versions", "routers", "exporters"}

// Sort orders findings by area, and within it the worst first.
func Sort(all []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(Areas, a.Area), slices.Index(Areas, b.Area)), -cmp.Compare(rank(a.Level), rank(b.Level)), cmp.Compare(a.Subject, b.Subject))
	})
}

func rank(l Level) int { return slices.Index([]Level{OK, Warning, Wrong}, l) }

// Count is how many findings have a level.
func Count(all []Finding, l Level) (n int) {
	for _, f := range all {
		if f.Level == l {
			n++
		}
	}
	return n
}

// good is a finding with nothing to do.
func good(area, subject, what string) Finding {
	return Finding{Area: area, Subject: subject, Level: OK, What: what}
}

// Answered is about something that was asked, such as a store; the error is what came instead of an answer.
func Answered(area, subject string, err error, remedy, runbook string) Finding {
	if err == nil {
		return good(area, subject, "answers")
	}
	return Finding{area, subject, Wrong, fmt.Sprintf("does not answer: %v", err), remedy, runbook}
}

// age writes a duration as people read it.
func age(d time.Duration) string {
	switch d = d.Abs(); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	default:
		return d.Round(time.Second).String()
	}
}
