package main

import (
	"bytes"
	"testing"

	pushv1 "github.com/millrace/millrace/proto/gen/millrace/push/v1"
)

func TestDriftSaysWhatNobodyCompared(t *testing.T) {
	unread := []*pushv1.NotCompared{{Router: "er", Reason: "not yet"}, {Router: "wr", Reason: "down"}, {Router: "xr", Reason: "not yet"}}
	for want, r := range map[string]*pushv1.ListDriftResponse{
		"not compared: er, xr: not yet\nnot compared: wr: down\n":                               {NotCompared: unread},
		"routers whose running config is what change sets left: 2\n":                            {Compared: 2},
		"routers whose running config is what change sets left: 1\nnot compared: er: not yet\n": {Compared: 1, NotCompared: unread[:1]},
	} {
		var out bytes.Buffer
		if printDrift(&out, r); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
