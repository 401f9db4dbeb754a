package kafka

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestRepeatDoublesAndReorders(t *testing.T) {
	b := Start(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, "facts"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b", "c"} {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "facts", Key: []byte("k"), Value: []byte(text)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b.Repeat(t, 2)
	records, err := read(context.WithoutCancel(t.Context()), client)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(records, func(x, y *kgo.Record) int { return int(x.Offset - y.Offset) })
	var got []string
	for _, r := range records {
		got = append(got, string(r.Value))
	}
	if text := strings.Join(got, ""); text != "abcccbb" {
		t.Errorf("the topic has %s, want abc, and b and c again, twice, the other way round", text)
	}
}

func TestBrokerAnswersAndLeavesNothingBehind(t *testing.T) {
	var pid int
	t.Run("while the test runs", func(t *testing.T) {
		b := Start(t)
		pid = b.process.Process.Pid
		if _, err := os.Stat(b.log); err != nil {
			t.Error(err)
		}
	})
	if pid == 0 {
		t.SkipNow() // the reason was given above
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("broker process %d after its test: got %v, want it gone", pid, err)
	}
}
