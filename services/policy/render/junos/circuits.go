package junos

// circuits refuses ends of circuits between ports: frames between routers with the router agent are in VXLAN, and a
// Junos router at one end would have to be in it as well.
func (r *renderer) circuits() {
	for _, a := range r.plan.Attachments {
		r.refuse("circuit "+a.Circuit, "port %s is its end, and circuits between ports are not rendered for Junos", a.Port)
	}
}
