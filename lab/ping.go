package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/millrace/millrace/scenario"
)

// ping runs ping(8) and reads its answers as they come. Packets lost are not an
// error; ping's own exit code for "no answer at all" is not one either.
func (l *Lab) ping(ctx context.Context, a scenario.Application, target string, told func(string, Echo)) (*PingSeries, error) {
	count := max(int((a.Stop-a.Start)/a.Interval), 1)
	// No deadline (-w): it would cut off the last request and count it lost, and
	// make ping send more than count. It waits 2 s (-W) for the last answer.
	argv := []string{"ping", "-n", "-D", "-i", strconv.FormatFloat(a.Interval.Seconds(), 'f', -1, 64),
		"-c", strconv.Itoa(count), "-W", "2", target}
	r, w := io.Pipe()
	series := &PingSeries{interval: a.Interval}
	read := make(chan error, 1)
	go func() {
		err := series.read(r, func(e Echo) {
			if told != nil {
				told(a.Name, e)
			}
		})
		_, _ = io.Copy(io.Discard, r)
		read <- err
	}()
	err := l.Exec(ctx, a.From, argv, Stream{Stdout: w})
	_ = w.Close()
	readErr := <-read
	var code *ExitError
	if errors.As(err, &code) && code.Code == 1 {
		err = nil
	}
	return series, errors.Join(err, readErr)
}

var (
	pingAnswer  = regexp.MustCompile(`^\[(\d+\.\d+)\] .*icmp_seq=(\d+) .*time=([\d.]+) ms`)
	pingSummary = regexp.MustCompile(`^(\d+) packets transmitted, (\d+) received`)
)

// read takes the output of `ping -D`. Duplicates are counted once.
func (s *PingSeries) read(r io.Reader, told func(Echo)) error {
	seen := map[int]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if m := pingAnswer.FindStringSubmatch(lines.Text()); m != nil {
			e, err := newEcho(m)
			if err != nil {
				return fmt.Errorf("read ping's answer %q: %w", lines.Text(), err)
			}
			e.Seq = s.after(e.Seq)
			if !seen[e.Seq] {
				seen[e.Seq] = true
				s.Echoes = append(s.Echoes, e)
				told(e)
			}
		}
		if m := pingSummary.FindStringSubmatch(lines.Text()); m != nil {
			s.Sent, _ = strconv.Atoi(m[1])
			s.Received = len(s.Echoes)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read ping's output: %w", err)
	}
	if s.Sent == 0 {
		return errors.New("ping ended without its summary")
	}
	return nil
}

// after is the number of an echo request by its lowest 16 bits, which are all that ICMP has room for: the one that is
// nearest to the request of the last answer.
func (s *PingSeries) after(low int) int {
	last := 0
	if n := len(s.Echoes); n > 0 {
		last = s.Echoes[n-1].Seq
	}
	return last + int(int16(low-last))
}

func newEcho(m []string) (Echo, error) {
	at, err1 := strconv.ParseFloat(m[1], 64)
	seq, err2 := strconv.Atoi(m[2])
	rtt, err3 := strconv.ParseFloat(m[3], 64)
	return Echo{At: time.UnixMicro(int64(at * 1e6)), Seq: seq, RTT: rtt}, errors.Join(err1, err2, err3)
}
