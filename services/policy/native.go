package policy

import (
	"slices"

	"github.com/millrace/millrace/internal/device"
	"github.com/millrace/millrace/internal/junosconf"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/render/junos"
)

// native replaces the units of routers that are no OpenConfig targets (os: in
// the inventory) by one of their own: docs/adr/0007-junos-is-configured-natively.md says why not both.
func native(inv *device.Inventory, result compile.Result, out *policyv1.PlanResponse) error {
	for _, m := range out.GetPlans() {
		if d, _ := inv.ByName(m.GetRouter()); d.OS != device.OSJunos {
			continue
		}
		i := slices.IndexFunc(result.Plans, func(p compile.RouterPlan) bool { return p.Router == m.GetRouter() })
		text, err := junos.Text(result.Plans[i])
		if err != nil {
			return err
		}
		m.Units = []*policyv1.ConfigUnit{{Path: junosconf.UnitPath, Json: text}}
	}
	return nil
}
