package engine

// AddRoute writes a route down once. Flows that are given what it returns are one forwarding equivalence class: at a
// router that sends packet by packet they take turns together, not each for itself. That is how routers do it and
// what papers 000 and 003 say (section I-A): packets of one class go to the next hops in turn.
func (n *Net) AddRoute(r Route) (Route, error) {
	start, err := n.addRoute(r)
	if err != nil {
		return Route{}, err
	}
	return Route{known: start + 1}, nil
}
