package openconfig

import (
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
)

// profileOf names the buffer profile for ports of one speed and split: the model knows bytes, the policy shares.
// Its dedicated-buffer-temporal would do without the speed, but multiplies by the queue's weight as well.
func (r *renderer) profileOf(port compile.Port) string {
	return owned(r.plan.Policy + port.Suffix() + "-" + strings.ToLower(strings.TrimSuffix(port.Speed.String(), "bit/s")))
}

func (r *renderer) bufferProfiles() {
	seen := map[string]bool{}
	for _, port := range r.plan.Ports {
		name := r.profileOf(port)
		if port.Speed == 0 || seen[name] {
			continue
		}
		seen[name] = true
		var queues []any
		for _, q := range r.plan.At(port).Queues {
			queues = append(queues, entry("name", owned(q.Name), object{
				"dedicated-buffer": strconv.FormatUint(r.plan.BufferBytes(port.Speed, q), 10),
			}, nil))
		}
		r.add(configentry.BufferProfile, name, entry("name", name, nil, object{"queues": object{"queue": queues}}))
	}
}

func (r *renderer) managementProfileOf(queue string) string {
	return owned(r.plan.Policy + "-" + queue)
}

// managementProfiles are RED for all packets of a queue, which OpenConfig models,
// or WRED with a drop profile per loss priority, which our augment adds.
func (r *renderer) managementProfiles() {
	for _, q := range r.plan.Queues {
		if !hasDropProfiles(q) {
			continue
		}
		name := r.managementProfileOf(q.Name)
		r.add(configentry.QueueManagementProfile, name, entry("name", name, nil, object{"wred": wred(q)}))
	}
}

func hasDropProfiles(q document.Queue) bool { return q.RED != nil || len(q.WRED) > 0 }

func wred(q document.Queue) object {
	if q.RED != nil {
		return object{"uniform": object{"config": object{
			"min-threshold-percent":        strconv.Itoa(int(q.RED.Min)), // uint64 is a string in RFC 7951
			"max-threshold-percent":        strconv.Itoa(int(q.RED.Max)),
			"max-drop-probability-percent": q.RED.Probability, "enable-ecn": q.RED.ECN, "drop": true,
		}}}
	}
	var profiles []any
	for _, c := range q.WRED {
		profiles = append(profiles, entry("loss-priority", enum(c.LossPriority.String()), object{
			"min-threshold-percent": c.Min, "max-threshold-percent": c.Max, "max-drop-probability-percent": c.Probability,
		}, nil))
	}
	return object{"te-qos-ext:drop-profiles": object{"drop-profile": profiles}}
}

// enum is a word of the policy language as our augment spells it.
func enum(word string) string { return strings.ToUpper(strings.ReplaceAll(word, "-", "_")) }
