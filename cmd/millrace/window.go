package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// window is what --from and --to say.
type window struct{ from, to string }

// flags are those of a command about the time until now, unless --to says otherwise.
func (w *window) flags(cmd *cobra.Command, from string) {
	cmd.Flags().StringVar(&w.from, "from", from, "start of the window: RFC 3339, or how long ago")
	cmd.Flags().StringVar(&w.to, "to", "", "end of the window (default: now)")
}

// times are nil where the flags say nothing.
func (w window) times(now time.Time) (from, to *timestamppb.Timestamp, err error) {
	from, err1 := parseTime("--from", w.from, now)
	to, err2 := parseTime("--to", w.to, now)
	return from, to, errors.Join(err1, err2)
}

// untilNow ends now where --to says nothing.
func (w window) untilNow() (from, to *timestamppb.Timestamp, err error) {
	now := time.Now()
	from, to, err = w.times(now)
	if err != nil {
		return nil, nil, coded{err, exitUsage}
	}
	if to == nil {
		to = timestamppb.New(now)
	}
	return from, to, nil
}

// parseTime reads a point in time, or how long ago it was; empty is nil.
func parseTime(flag, s string, now time.Time) (*timestamppb.Timestamp, error) {
	if s == "" {
		return nil, nil
	}
	if ago, err := time.ParseDuration(s); err == nil {
		return timestamppb.New(now.Add(-ago)), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return nil, fmt.Errorf("%s %q: write a time as 2026-11-20T02:00:00Z, or how long ago as 2h", flag, s)
	}
	return timestamppb.New(t), nil
}
