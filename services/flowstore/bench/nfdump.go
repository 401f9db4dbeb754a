package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/nfdumpfile"
)

// nfdumps are the questions as nfdump takes them. The first one is easier than ours: nfdump takes each record for
// itself, and neither splits it nor sums several, which is right for this day, whose alpha flows are a record each.
var nfdumps = []struct {
	name string
	args []string
}{
	{nightlyRun, []string{"bytes > " + strconv.Itoa(minBytes)}},
	{ranking, []string{"-A", "srcip4/24,dstip4/24", "-O", "bytes", "-n", "10000"}},
}

// askNfdump puts the questions to nfdump, over an uncompressed file of the same records: those are the fastest to read.
func askNfdump(ctx context.Context, o options) ([]answer, error) {
	path := filepath.Join(o.dir, "day.nfcapd")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := nfdumpfile.Write(path, newMaker(o).flows()); err != nil {
			return nil, err
		}
	}
	var out []answer
	for _, q := range nfdumps {
		a := answer{Question: q.name, Program: "nfdump"}
		for range o.runs {
			if err := a.timeNfdump(ctx, o.nfdump, path, q.args); err != nil {
				return nil, fmt.Errorf("nfdump: %w", err)
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// flows are those of the day, in the order in which they are stored.
func (m *maker) flows() func(yield func(*nfdumpfile.Flow) bool) {
	return func(yield func(*nfdumpfile.Flow) bool) {
		for ; m.made < m.all; m.made++ {
			f := nfdumpfile.Flow{Record: m.record(m.exporter())}
			if !yield(&f) {
				return
			}
		}
	}
}

func (a *answer) timeNfdump(ctx context.Context, program, path string, args []string) error {
	cmd := exec.CommandContext(ctx, program, append([]string{"-C", "none", "-G", "none", "-r", path, "-q", "-N", "-o", "fmt:%byt"}, args...)...)
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	began := time.Now()
	if err := cmd.Run(); err != nil || complained.Len() > 0 {
		return errors.Join(err, errors.New(complained.String()))
	}
	a.Seconds = append(a.Seconds, time.Since(began).Seconds())
	a.CPU = append(a.CPU, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	a.Rows, a.Bytes = 0, 0
	for line := range strings.FieldsSeq(said.String()) {
		n, err := strconv.ParseUint(line, 10, 64)
		if err != nil {
			return err
		}
		a.Rows++
		a.Bytes += n
	}
	return nil
}
