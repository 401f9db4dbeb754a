package store

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// answerless is a server whose answers to inserts are lost; end is its answer to KILL QUERY.
type answerless struct {
	driver.Conn
	end func(context.Context) error
}

func (answerless) ServerVersion() (*driver.ServerVersion, error) { return &driver.ServerVersion{}, nil }
func (answerless) PrepareBatch(context.Context, string, ...driver.PrepareBatchOption) (driver.Batch, error) {
	return unanswered{}, nil
}
func (a answerless) Exec(ctx context.Context, _ string, _ ...any) error { return a.end(ctx) }

type unanswered struct{ driver.Batch }

func (unanswered) Send() error  { return io.EOF }
func (unanswered) Close() error { return nil }

// hangs is the answer of a server that stands still.
func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// An insert ends whatever the server answers: its table is written by one committer, which waits for it.
func TestAnInsertWithoutAnAnswerReturns(t *testing.T) {
	refuses := func(context.Context) error {
		return &clickhouse.Exception{Code: 497, Message: "millrace: not enough privileges"}
	}
	for _, c := range []struct {
		name string
		end  func(context.Context) error
		stop time.Duration // after which the store stops
		most time.Duration
	}{
		{"ended", func(context.Context) error { return nil }, time.Hour, 0},
		{"a user without the right to see statements", refuses, time.Hour, endTimeout + endPause},
		{"a server that stands still at a stop", hangs, time.Second, 4 * time.Second},
		{"a server that stands still after a stop", hangs, 0, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.stop)
				defer cancel()
				var failed int
				s := &oneServer{&server{writes: answerless{end: c.end}}, func(string) { failed++ }}
				began := time.Now()
				if err := s.Insert(ctx, Batch{Table: "flows"}); !errors.Is(err, io.EOF) {
					t.Errorf("the insert's error is %v, want its own", err)
				}
				if took := time.Since(began); took > c.most {
					t.Errorf("it returns after %s, want at most %s", took, c.most)
				}
				if (failed > 0) != (c.most > 0) {
					t.Errorf("%d attempts counted", failed)
				}
			})
		})
	}
}

// A server that is away is waited for, as it may still run the insert for others that reach it, and so is one that says
// that it does.
func TestAnInsertThatMayRunIsWaitedFor(t *testing.T) {
	for _, answer := range []error{io.ErrUnexpectedEOF, &clickhouse.Exception{Code: stillRuns, Message: "unkillable stages"}} {
		synctest.Test(t, func(t *testing.T) {
			back, failed := time.Now().Add(5*time.Minute), 0
			s := &oneServer{&server{writes: answerless{end: func(context.Context) error {
				if time.Now().Before(back) {
					return answer
				}
				return nil
			}}}, func(string) { failed++ }}
			if err := s.Insert(t.Context(), Batch{Table: "flows"}); !errors.Is(err, io.EOF) {
				t.Errorf("the insert's error is %v, want its own", err)
			}
			if time.Now().Before(back) || failed == 0 {
				t.Errorf("%v: it returns %s before the insert has ended, with %d attempts counted", answer, time.Until(back), failed)
			}
		})
	}
}
