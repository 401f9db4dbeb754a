package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/configentry"
	"github.com/millrace/millrace/internal/device"
	policyv1 "github.com/millrace/millrace/proto/gen/millrace/policy/v1"
	"github.com/millrace/millrace/services/policy/compile"
	"github.com/millrace/millrace/services/policy/render/linux"
)

// Renderer writes plans for the routers of one operating system.
type Renderer struct {
	// Syntax is the name by which a request chooses Text, such as junos.
	Syntax string
	// Encoding is the syntax of the entries' bodies.
	Encoding configentry.Encoding
	// Entries renders a plan as a router is configured.
	Entries func(compile.RouterPlan) ([]configentry.Entry, error)
	// Text renders a plan for people to read.
	Text func(compile.RouterPlan) (string, error)
	// Frames is how the routers carry the frames of circuits between ports.
	Frames compile.Frames
}

// Renderers holds one per operating system.
type Renderers map[device.OS]Renderer

// linuxSyntax shows what the router agent makes of its OpenConfig; no router is configured in it.
const linuxSyntax = "linux"

// Syntaxes lists the names that a request may choose.
func (r Renderers) Syntaxes() []string {
	out := []string{linuxSyntax}
	for _, each := range r {
		out = append(out, each.Syntax)
	}
	slices.Sort(out)
	return out
}

// text finds the rendering for people; none is nil.
func (r Renderers) text(syntax string) (func(compile.RouterPlan) (string, error), error) {
	switch syntax {
	case "":
		return nil, nil
	case linuxSyntax:
		return linux.Text, nil
	}
	for _, each := range r {
		if each.Syntax == syntax {
			return each.Text, nil
		}
	}
	return nil, fmt.Errorf("there is no rendering %q; write one of %s, or leave it out", syntax, strings.Join(r.Syntaxes(), ", "))
}

// of finds the renderer of a router by the os: of its inventory entry; a router without one is OpenConfig's.
func (r Renderers) of(inv *device.Inventory, router string) (Renderer, error) {
	d, _ := inv.ByName(router)
	renderer, known := r[d.OS.OrDefault()]
	if !known {
		return Renderer{}, fmt.Errorf("%s runs %s, for which there is no renderer; there are %v", router, d.OS, slices.Sorted(maps.Keys(r)))
	}
	return renderer, nil
}

// entries renders a plan for its router's operating system.
func (r Renderer) entries(p compile.RouterPlan) ([]*policyv1.ConfigEntry, error) {
	list, err := r.Entries(p)
	if err != nil {
		return nil, err
	}
	out := make([]*policyv1.ConfigEntry, len(list))
	for i, e := range list {
		out[i] = &policyv1.ConfigEntry{Path: e.Path, Encoding: r.Encoding.ToProto(), Body: e.Body}
	}
	return out, nil
}
