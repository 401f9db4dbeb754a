package hostadvice

import (
	"testing"

	"github.com/millrace/millrace/scenario"
)

// Every row of the table has a figure in the scenario that it quotes, and the advice is what it says: better than none.
func TestTheScenarioHasEveryRow(t *testing.T) {
	m, err := scenario.MeasuredIn(Scenario)
	if err != nil {
		t.Fatal(err)
	}
	gains := Gains(m.Metrics)
	for _, g := range gains {
		if g.Goodput <= 0 || g.Share <= 0 {
			t.Errorf("%s has no figure: %+v", g.Sender, g)
		}
	}
	if linux, advised := gains[len(gains)-2], gains[len(gains)-1]; advised.Goodput < linux.Goodput {
		t.Errorf("the settings make it slower than Linux's defaults: %+v, %+v", linux, advised)
	}
}
