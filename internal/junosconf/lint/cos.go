package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/millrace/millrace/internal/junosconf"
)

// builtin are the forwarding classes Junos has by itself, and their queues.
var builtin = map[string]int{"best-effort": 0, "expedited-forwarding": 1, "assured-forwarding": 2, "network-control": 3}

const maxClasses = 16

func (l *linter) classes() {
	classes := l.cos.In("forwarding-classes").List("class")
	if len(classes)+len(builtin) > maxClasses {
		l.add(Reserved, "class-of-service forwarding-classes", "%d classes beside Junos' own %d, more than %d", len(classes), len(builtin), maxClasses)
	}
	for _, c := range classes {
		where := "class-of-service forwarding-classes class " + c.Key()
		l.name("class-of-service forwarding-classes class", c.Key(), maxName)
		if _, taken := builtin[c.Key()]; taken {
			l.add(Reserved, where, "Junos has this class already")
		}
		if n, err := strconv.Atoi(c.Leaf("queue-num")); err != nil || n < 0 || n > 7 {
			l.add(QueueNum, where, "queue-num %q is not 0 to 7", c.Leaf("queue-num"))
		}
	}
}

// class checks a reference to a forwarding class.
func (l *linter) class(where, name string) {
	if _, ok := builtin[name]; !ok {
		l.refer(where, name, l.cos.In("forwarding-classes"), "class")
	}
}

func (l *linter) queueOf(class string) int {
	if q, ok := builtin[class]; ok {
		return q
	}
	q, err := strconv.Atoi(l.cos.In("forwarding-classes").Entry("class", class).Leaf("queue-num"))
	if err != nil {
		return -1
	}
	return q
}

var (
	priorities       = []string{"strict-high", "high", "medium-high", "medium-low", "low"}
	excessPriorities = []string{"high", "medium-high", "medium-low", "low", "none"}
)

func (l *linter) schedulers() {
	for _, s := range l.cos.List("schedulers") {
		where := "class-of-service schedulers " + s.Key()
		l.name("class-of-service schedulers", s.Key(), maxName)
		if p := s.Leaf("priority"); p != "" && !slices.Contains(priorities, p) {
			l.add(Priority, where, "priority %s is none of %s", p, strings.Join(priorities, ", "))
		}
		if p := s.Leaf("excess-priority"); p != "" && !slices.Contains(excessPriorities, p) {
			l.add(Priority, where, "excess-priority %s is none of %s", p, strings.Join(excessPriorities, ", "))
		}
		l.percent(Rate, where+" transmit-rate", s.In("transmit-rate").Leaf("percent"), 1)
		l.percent(Rate, where+" shaping-rate", s.In("shaping-rate").Leaf("percent"), 1)
		l.percent(Rate, where+" excess-rate", s.In("excess-rate").Leaf("percent"), 1)
		l.percent(Buffer, where+" buffer-size", s.In("buffer-size").Leaf("percent"), 0)
		if s.In("transmit-rate").Has("exact") && s.In("transmit-rate").Leaf("percent") == "" {
			l.add(Exact, where, "transmit-rate exact has no percent")
		}
		if s.Leaf("priority") == "strict-high" && (s.Has("excess-rate") || s.Has("excess-priority")) {
			l.add(StrictHigh, where, "a strict-high queue has no share of the excess")
		}
		for _, m := range s.List("drop-profile-map") {
			l.refer(where+" drop-profile-map drop-profile", m.Leaf("drop-profile"), l.cos, "drop-profiles")
		}
	}
	for _, d := range l.cos.List("drop-profiles") {
		l.dropProfile(d)
	}
}

func (l *linter) percent(rule Rule, where, text string, least int) {
	if text == "" {
		return
	}
	if n, err := strconv.Atoi(text); err != nil || n < least || n > 100 {
		l.add(rule, where, "%q is not %d to 100", text, least)
	}
}

func (l *linter) dropProfile(d junosconf.View) {
	where := "class-of-service drop-profiles " + d.Key()
	fill, drop := numbers(d.In("interpolate").Values("fill-level")), numbers(d.In("interpolate").Values("drop-probability"))
	switch {
	case len(fill) != len(drop) || len(fill) < 2 || len(fill) > 64:
		l.add(DropProfile, where, "%d fill-levels and %d drop-probabilities; both must be as many, 2 to 64", len(fill), len(drop))
	case !rises(fill):
		l.add(DropProfile, where, "the fill-levels do not rise")
	case !rises(drop):
		l.add(DropProfile, where, "the drop-probabilities do not rise")
	case fill[0] < 0 || fill[len(fill)-1] > 100 || drop[0] < 0 || drop[len(drop)-1] > 100:
		l.add(DropProfile, where, "a point is not 0 to 100")
	}
}

// numbers gives -1 for what is none.
func numbers(texts []string) []int {
	out := make([]int, len(texts))
	for i, t := range texts {
		var err error
		if out[i], err = strconv.Atoi(t); err != nil {
			out[i] = -1
		}
	}
	return out
}

func rises(n []int) bool {
	for i := 1; i < len(n); i++ {
		if n[i] <= n[i-1] {
			return false
		}
	}
	return true
}

// maps checks what one port gets together.
func (l *linter) maps() {
	for _, m := range l.cos.List("scheduler-maps") {
		where := "class-of-service scheduler-maps " + m.Key()
		l.name("class-of-service scheduler-maps", m.Key(), maxName)
		rate, buffer, strict, queues := 0, 0, 0, map[int]string{}
		for _, c := range m.List("forwarding-class") {
			l.class(where+" forwarding-class", c.Key())
			l.refer(where+" forwarding-class "+c.Key()+" scheduler", c.Leaf("scheduler"), l.cos, "schedulers")
			if q := l.queueOf(c.Key()); q >= 0 {
				if other, taken := queues[q]; taken {
					l.add(QueueNum, where, "classes %s and %s share queue %d and cannot have a scheduler each", other, c.Key(), q)
				}
				queues[q] = c.Key()
			}
			s := l.cos.Entry("schedulers", c.Leaf("scheduler"))
			rate += max(0, numbers([]string{s.In("transmit-rate").Leaf("percent")})[0])
			buffer += max(0, numbers([]string{s.In("buffer-size").Leaf("percent")})[0])
			if s.Leaf("priority") == "strict-high" {
				strict++
			}
		}
		if rate > 100 {
			l.add(Rate, where, "the transmit-rates add up to %d %%", rate)
		}
		if buffer > 100 {
			l.add(Buffer, where, "the buffer-sizes add up to %d %%", buffer)
		}
		if strict > 1 {
			l.add(StrictHigh, where, "%d queues are strict-high; a port can have one", strict)
		}
	}
}

// codePoints checks classifiers and rewrite rules.
func (l *linter) codePoints() {
	for _, kind := range []string{"dscp", "dscp-ipv6", "exp"} {
		bits := 6
		if kind == "exp" {
			bits = 3
		}
		for _, c := range l.cos.In("classifiers").List(kind) {
			where, seen := "class-of-service classifiers "+kind+" "+c.Key(), map[string]string{}
			for _, class := range c.List("forwarding-class") {
				l.class(where+" forwarding-class", class.Key())
				for _, loss := range class.List("loss-priority") {
					for _, code := range loss.Values("code-points") {
						l.bits(where, code, bits)
						if other, taken := seen[code]; taken {
							l.add(CodePoint, where, "%s is in %s and in %s", code, other, class.Key())
						}
						seen[code] = class.Key()
					}
				}
			}
		}
		for _, r := range l.cos.In("rewrite-rules").List(kind) {
			where := "class-of-service rewrite-rules " + kind + " " + r.Key()
			for _, class := range r.List("forwarding-class") {
				l.class(where+" forwarding-class", class.Key())
				for _, loss := range class.List("loss-priority") {
					l.bits(where, loss.Leaf("code-point"), bits)
				}
			}
		}
	}
}

func (l *linter) bits(where, code string, n int) {
	if len(code) != n || strings.Trim(code, "01") != "" {
		l.add(CodePoint, where, "code point %q is not %d bits", code, n)
	}
}
