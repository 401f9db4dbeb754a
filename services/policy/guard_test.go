package policy

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/services/policy/document"
)

func TestOtherWeightsMeetTheSameGuardRails(t *testing.T) {
	p := shipped(t, "hntes-three-queue-scavenger")
	for _, c := range []struct {
		what            string
		weights, buffer map[string]uint8
		want            string
	}{
		{"over 100 %", map[string]uint8{"alpha": 60}, nil, "the weights add up to 111 %"},
		{"a queue that is not there", map[string]uint8{"gamma": 1}, nil, "there is no queue gamma"},
		{"nothing for alpha", map[string]uint8{"alpha": 0, "beta": 99}, nil, "its flows would starve"},
		{"no buffer", nil, map[string]uint8{"scavenger": 0, "alpha": 50}, "queue scavenger has no buffer"},
	} {
		t.Run(c.what, func(t *testing.T) {
			_, problems := document.WithWeights(p, c.weights, c.buffer)
			if err := document.Join(problems); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("problems %v, want %q", err, c.want)
			}
		})
	}
	before := p.Queues[1].Weight
	if _, problems := document.WithWeights(p, map[string]uint8{"alpha": 30, "beta": 50, "scavenger": 20}, nil); len(problems) > 0 {
		t.Error(document.Join(problems))
	}
	if p.Queues[1].Weight != before {
		t.Error("the policy that was varied is another now")
	}
}
