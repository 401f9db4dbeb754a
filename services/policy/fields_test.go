package policy

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/document"
	"github.com/millrace/millrace/services/policy/policytest"
	"github.com/millrace/millrace/services/policy/render/junos"
	"github.com/millrace/millrace/services/policy/render/linux"
	"github.com/millrace/millrace/services/policy/render/openconfig"
)

// renderings of a plan, by the folder that does each.
var renderings = map[string]func(compile.RouterPlan) (string, error){
	"services/policy/render/openconfig": openconfig.Text,
	"services/policy/render/junos":      junos.Text,
	"services/policy/render/linux":      linux.Text,
	"services/policy/convert_plan.go":   func(p compile.RouterPlan) (string, error) { return planToProto(p).String(), nil },
}

// redundant are fields that a renderer does not need, each with the reason.
var redundant = map[string]string{
	"services/policy/render/openconfig Default": "the default queue has the lowest id",
	"services/policy/render/junos Default":      "the default queue has the lowest id",
	"services/policy/render/linux ID":           "classes are numbered in the order of service",
}

// A field of a queue that is taken out of a golden plan changes what each renderer writes or refuses; else the renderer
// leaves it out in silence.
func TestEveryFieldOfAQueueIsRendered(t *testing.T) {
	plans := goldenPlans(t)
	for folder, render := range renderings {
		said := func(p compile.RouterPlan) string {
			text, err := render(p)
			return fmt.Sprint(text, err)
		}
		fields := reflect.TypeFor[document.Queue]()
		for i := range fields.NumField() {
			_, known := redundant[folder+" "+fields.Field(i).Name]
			if used := slices.ContainsFunc(plans, func(p compile.RouterPlan) bool { return said(p) != said(without(p, i)) }); used == known {
				t.Errorf("%s: Queue.%s changes some golden plan's text: %t; render it, or give the reason in redundant", folder, fields.Field(i).Name, used)
			}
		}
	}
}

// without is a plan whose queues have no value in one field.
func without(p compile.RouterPlan, field int) compile.RouterPlan {
	p.Queues = slices.Clone(p.Queues)
	for i := range p.Queues {
		reflect.ValueOf(&p.Queues[i]).Elem().Field(field).SetZero()
	}
	return p
}

// goldenPlans are those of all cases, each also with its queues alone, so that a renderer which refuses something else
// still shows what it makes of the queues.
func goldenPlans(t *testing.T) []compile.RouterPlan {
	t.Helper()
	var out []compile.RouterPlan
	for _, name := range policytest.Names(t) {
		result, err := compile.Compile(policytest.Read(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range result.Plans {
			alone := p
			alone.Filters, alone.Policers, alone.LSPs = nil, nil, nil
			out = append(out, p, alone)
		}
	}
	return out
}
