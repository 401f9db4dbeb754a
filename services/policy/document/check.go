package document

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Names become parts of OpenConfig list keys and of names in FRR and Junos.
var namePattern = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

// How long names may be. A policy's is a file's too, and with a queue's and a split's it is that of a scheduler, which
// has 64 characters in Junos: te-POLICY-255-QUEUE.
const (
	MaxName       = 24
	MaxPolicyName = 32
)

// check holds the rules about more than one field.
func (r *reader) check(p *Policy) {
	r.crossed = map[Guard]bool{}
	r.checkPolicyName(p.Name)
	r.checkQueues(p)
	r.checkDropProfiles(p)
	r.checkClasses(p)
	r.checkPolicers(p)
	r.checkRedirects(p)
	r.checkSplit(p)
	r.checkPriorities(p)
	if len(r.problems) > 0 {
		return // these mislead where a name above is wrong
	}
	r.checkFilled(p)
	r.checkForce(p)
}

// ofOthers are names that would be, on a router, those of the sets of policers of a port and of circuits' profiles:
// scheduler policies are named after the policy, and after it and a share where a port is split.
var ofOthers = regexp.MustCompile(`^(police(-[0-9]+)?|profile(-.*)?)$`)

func (r *reader) checkPolicyName(name string) {
	r.checkNameUpTo(MaxPolicyName, "policy", name, "hntes-two-queue")
	if ofOthers.MatchString(name) {
		r.problem("policy", fmt.Sprintf("policy: %q would be the name of policers on routers", name), "write another one, such as hntes-two-queue")
	}
}

func (r *reader) checkName(path, name, example string) { r.checkNameUpTo(MaxName, path, name, example) }

func (r *reader) checkNameUpTo(most int, path, name, example string) {
	if len(name) > most || !namePattern.MatchString(name) {
		r.problem(path, fmt.Sprintf("%s: %q is not a name", path, name), fmt.Sprintf("write at most %d of a-z, 0-9 and -, such as %s", most, example))
	}
}

// checkQueueName is for every place that names a queue.
func (r *reader) checkQueueName(p *Policy, path, name string) bool {
	_, ok := p.QueueByName(name)
	if !ok {
		r.problem(path, "there is no queue "+name, "write "+namesOf(p.Queues))
	}
	return ok
}

// guard reports a rule that may be crossed, unless the policy says that it means to.
func (r *reader) guard(p *Policy, g Guard, path, message, fix string) {
	r.crossed[g] = true
	if !p.Forces(g) {
		r.problem(path, message, fmt.Sprintf("%s; or cross guard rail %s with force:", fix, g))
	}
}

// checkForce: a guard rail that is not crossed needs no force; it would hide the day on which it is.
func (r *reader) checkForce(p *Policy) {
	seen := map[Guard]bool{}
	for i, f := range p.Force {
		at := fmt.Sprintf("force[%d]", i)
		switch {
		case seen[f.Guard]:
			r.problem(at+".guard", fmt.Sprintf("guard rail %s is forced twice", f.Guard), "remove one of the two")
		case f.Guard == ShareBelowProfile && len(p.Policers) > 0: // the compiler, which knows the ports, has the word
		case !r.crossed[f.Guard]:
			r.problem(at+".guard", fmt.Sprintf("the policy does not cross guard rail %s", f.Guard), "remove this force")
		}
		if strings.TrimSpace(f.Reason) == "" {
			r.problem(at+".reason", "the reason is empty", "write why, in one sentence; it is part of every plan")
		}
		seen[f.Guard] = true
	}
}

func namesOf(queues []Queue) string {
	names := make([]string, len(queues))
	for i, q := range queues {
		names[i] = q.Name
	}
	return strings.Join(names, " or ")
}

func sortedKeys(m map[string]uint8) []string { return slices.Sorted(maps.Keys(m)) }
