package lint

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/junosconf"
)

// sound has one of everything, and no problem.
const sound = `
groups te {
  class-of-service {
    classifiers {
      dscp c { forwarding-class te-a { loss-priority low code-points 001000; } }
      exp e { forwarding-class te-a { loss-priority low code-points 001; } }
    }
    drop-profiles d { interpolate { fill-level [ 0 50 100 ]; drop-probability [ 0 10 100 ]; } }
    forwarding-classes { class te-a queue-num 1; class te-b queue-num 0; }
    interfaces xe-0/0/0 { scheduler-map m; unit 0 { classifiers { dscp c; exp e; } rewrite-rules { dscp r; } } }
    rewrite-rules dscp r { forwarding-class te-a { loss-priority high code-point 000001; } }
    scheduler-maps m { forwarding-class te-a scheduler a; forwarding-class te-b scheduler b; }
    schedulers a { transmit-rate { percent 95; exact; } buffer-size percent 95; priority high; drop-profile-map loss-priority any protocol any drop-profile d; }
    schedulers b { transmit-rate percent 5; excess-rate percent 5; buffer-size percent 5; priority low; excess-priority low; }
  }
  firewall {
    family inet filter f {
      interface-specific;
      term one { from { source-prefix-list p; } then { policer pol; forwarding-class te-a; routing-instance i; } }
      term on { then { forwarding-class te-a; next term; } }
      term two { from { destination-prefix-list p; } then { three-color-policer two-rate three; accept; } }
      term rest { then { forwarding-class te-b; accept; } }
    }
    policer pol { if-exceeding { bandwidth-limit 1g; burst-size-limit 31k; } then loss-priority high; }
    three-color-policer three { two-rate { color-blind; committed-information-rate 1g; committed-burst-size 31k; peak-information-rate 2g; peak-burst-size 62k; } }
  }
  interfaces xe-0/0/0 unit 0 family inet filter input f;
  policy-options prefix-list p { 192.0.2.0/24; }
  protocols mpls {
    label-switched-path l { to 10.255.0.4; primary l; }
    path l { 10.255.0.3 loose; 10.255.0.4 loose; }
  }
  routing-instances i { instance-type forwarding; routing-options static { route 198.51.100.0/24 lsp-next-hop l; route 0.0.0.0/0 next-table inet.0; } }
  routing-options { interface-routes rib-group inet fbf; rib-groups fbf import-rib [ inet.0 i.inet.0 ]; }
}
apply-groups te;
`

func tree(t *testing.T, more string) *junosconf.Tree {
	t.Helper()
	out, err := junosconf.Parse(sound)
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Load(more); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSoundConfigurationHasNoProblems(t *testing.T) {
	if got := Check(tree(t, "")); len(got) > 0 {
		t.Errorf("problems: %v", got)
	}
}

var long = strings.Repeat("x", 53)

func TestEachRuleFindsItsMistake(t *testing.T) {
	cos, fw := "set groups te class-of-service ", "set groups te firewall "
	for _, c := range []struct {
		name, change string
		rule         Rule
		want         string
	}{
		{"a group that is not there", "set apply-groups other", Dangling, "apply-groups other: there is no such group"},
		{"a scheduler that is not there", cos + "scheduler-maps m forwarding-class te-a scheduler x", Dangling, "scheduler x: there is no schedulers of this name"},
		{"a class that is not there, in a map", cos + "scheduler-maps m forwarding-class te-x scheduler a", Dangling, "forwarding-class te-x"},
		{"a class that is not there, in a classifier", cos + "classifiers dscp c forwarding-class te-x loss-priority low code-points 000000", Dangling, "classifiers dscp c forwarding-class te-x"},
		{"a class that is not there, in a rewrite rule", cos + "rewrite-rules dscp r forwarding-class te-x loss-priority low code-point 000000", Dangling, "rewrite-rules dscp r forwarding-class te-x"},
		{"a class that is not there, in a term", fw + "family inet filter f term one then forwarding-class te-x", Dangling, "then forwarding-class te-x"},
		{"a class that is not there, in a policer", fw + "policer pol then forwarding-class te-x", Dangling, "policer pol then forwarding-class te-x"},
		{"a drop profile that is not there", cos + "schedulers a drop-profile-map loss-priority high protocol any drop-profile x", Dangling, "drop-profile x"},
		{"a prefix list that is not there", fw + "family inet filter f term one from destination-prefix-list x", Dangling, "destination-prefix-list x"},
		{"a policer that is not there", fw + "family inet filter f term one then policer x", Dangling, "then policer x"},
		{"a three-color-policer that is not there", fw + "family inet filter f term two then three-color-policer two-rate x", Dangling, "two-rate x"},
		{"an instance that is not there", fw + "family inet filter f term one then routing-instance x", Dangling, "routing-instance x"},
		{"a filter that is not there", "set groups te interfaces xe-0/0/0 unit 0 family inet6 filter input f", Dangling, "family inet6 filter input f"},
		{"a scheduler map that is not there, on a port", cos + "interfaces xe-0/0/1 scheduler-map x", Dangling, "interfaces xe-0/0/1 scheduler-map x"},
		{"a scheduler map that is not there, on a unit", cos + "interfaces xe-0/0/1 unit 0 scheduler-map x", Dangling, "unit 0 scheduler-map x"},
		{"a classifier that is not there", cos + "interfaces xe-0/0/1 unit 0 classifiers dscp x", Dangling, "classifiers dscp x"},
		{"an EXP classifier that is not there", cos + "interfaces xe-0/0/1 unit 0 classifiers exp x", Dangling, "classifiers exp x"},
		{"a rewrite rule that is not there", cos + "interfaces xe-0/0/1 unit 0 rewrite-rules exp x", Dangling, "rewrite-rules exp x"},
		{"a path that is not there", "set groups te protocols mpls label-switched-path l primary x", Dangling, "primary x"},
		{"an LSP that is not there", "set groups te routing-instances i routing-options static route 10.0.0.0/8 lsp-next-hop x", Dangling, "lsp-next-hop x"},
		{"a table that is not there", "set groups te routing-instances i routing-options static route 10.0.0.0/8 next-table x.inet.0", Dangling, "next-table x.inet.0"},
		{"a table of a RIB group that is not there", "set groups te routing-options rib-groups fbf import-rib x.inet.0", Dangling, "there is no routing instance x"},
		{"a RIB group that is not there", "set groups te routing-options interface-routes rib-group inet x", Dangling, "rib-group inet x"},
		{"a priority Junos does not have", cos + "schedulers a priority nonsense", Priority, "priority nonsense is none of"},
		{"an excess priority Junos does not have", cos + "schedulers b excess-priority strict-high", Priority, "excess-priority strict-high"},
		{"a weight of 0", cos + "schedulers b transmit-rate percent 0", Rate, `"0" is not 1 to 100`},
		{"a shaping rate over the line", cos + "schedulers b shaping-rate percent 101", Rate, `"101" is not 1 to 100`},
		{"no excess at all", cos + "schedulers b excess-rate percent 0", Rate, `"0" is not 1 to 100`},
		{"weights over 100", cos + "schedulers b transmit-rate percent 6", Rate, "add up to 101 %"},
		{"a buffer over the whole", cos + "schedulers b buffer-size percent 101", Buffer, `"101" is not 0 to 100`},
		{"buffers over 100", cos + "schedulers b buffer-size percent 6", Buffer, "add up to 101 %"},
		{"a queue Junos does not have", cos + "forwarding-classes class te-x queue-num 8", QueueNum, `queue-num "8" is not 0 to 7`},
		{"a queue without a number", cos + "forwarding-classes class te-x", QueueNum, `queue-num "" is not 0 to 7`},
		{"two schedulers for a queue", cos + "scheduler-maps m forwarding-class best-effort scheduler a", QueueNum, "share queue 0"},
		{"two strict-high queues", cos + "schedulers a priority strict-high\n" + cos + "schedulers c priority strict-high\n" + cos + "scheduler-maps m forwarding-class network-control scheduler c", StrictHigh, "2 queues are strict-high"},
		{"a strict-high queue with excess", cos + "schedulers b priority strict-high", StrictHigh, "no share of the excess"},
		{"exact without a rate", cos + "schedulers c transmit-rate exact", Exact, "exact has no percent"},
		{"a profile that falls", cos + "drop-profiles d interpolate fill-level 99", DropProfile, "4 fill-levels and 3 drop-probabilities"},
		{"a profile whose fill rests", cos + "drop-profiles x interpolate fill-level [ 50 50 ]\n" + cos + "drop-profiles x interpolate drop-probability [ 0 10 ]", DropProfile, "the fill-levels do not rise"},
		{"a profile whose probability falls", cos + "drop-profiles x interpolate fill-level [ 0 50 ]\n" + cos + "drop-profiles x interpolate drop-probability [ 10 5 ]", DropProfile, "the drop-probabilities do not rise"},
		{"a profile over 100", cos + "drop-profiles x interpolate fill-level [ 0 101 ]\n" + cos + "drop-profiles x interpolate drop-probability [ 0 5 ]", DropProfile, "not 0 to 100"},
		{"a DSCP that is no bits", cos + "rewrite-rules dscp r forwarding-class te-a loss-priority high code-point 8", CodePoint, `"8" is not 6 bits`},
		{"an EXP of six bits", cos + "classifiers exp e forwarding-class te-a loss-priority low code-points 001000", CodePoint, "not 3 bits"},
		{"a DSCP in two classes", cos + "classifiers dscp c forwarding-class te-b loss-priority low code-points 001000", CodePoint, "001000 is in te-a and in te-b"},
		{"a policer below what Junos can", fw + "policer pol if-exceeding bandwidth-limit 7k", Limit, `"7k" is not 8000 to`},
		{"a burst below one packet", fw + "policer pol if-exceeding burst-size-limit 1k", Limit, `"1k" is not 1500 to`},
		{"a committed rate above the peak", fw + "three-color-policer three two-rate committed-information-rate 3g", Limit, "above the peak rate"},
		{"a term with two fates", fw + "family inet filter f term one then accept", Action, "one of accept, routing-instance and next term"},
		{"a term without a fate", "delete groups te firewall family inet filter f term two then accept", Action, "one of accept, routing-instance and next term"},
		{"a policer with two actions", fw + "policer pol then discard", Action, "one of discard"},
		{"a term with two policers", fw + "family inet filter f term two then policer pol", Action, "one policer"},
		{"a term nothing reaches", fw + "family inet filter f term late then accept", Term, "term rest before it matches every packet"},
		{"a filter that ends in discard", "delete groups te firewall family inet filter f term rest", Term, "Junos discards"},
		{"a path that ends elsewhere", "set groups te protocols mpls label-switched-path l to 10.255.0.9", Path, "ends at 10.255.0.4, not at 10.255.0.9"},
		{"a hop of two kinds", "set groups te protocols mpls path l 10.255.0.3 strict", Path, "both strict and loose"},
		{"a filter's name that Junos cannot lengthen", fw + "family inet filter " + long + " term rest then accept", Name, "53 characters, more than 52"},
		{"an LSP path's name that is too long", "set groups te protocols mpls path " + long + long + " 10.0.0.1", Name, "106 characters, more than 64"},
		{"a class that Junos has", cos + "forwarding-classes class best-effort queue-num 0", Reserved, "Junos has this class already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range Check(tree(t, c.change)) {
				if p.Rule == c.rule && strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("no %s problem with %q in %v", c.rule, c.want, Check(tree(t, c.change)))
		})
	}
}

func TestMoreClassesThanJunosHas(t *testing.T) {
	config := ""
	for _, name := range "abcdefghijkl" {
		config += "set groups te class-of-service forwarding-classes class te-x" + string(name) + " queue-num 2\n"
	}
	got := Error(Check(tree(t, config)))
	if got == nil || !strings.Contains(got.Error(), "14 classes beside Junos' own 4, more than 16") {
		t.Errorf("got %v", got)
	}
}
