package compute

import (
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/topo"
)

// errLinks means that links are no path.
var errLinks = errors.New("the links are no path")

// Pin is the path of these links, with the segments that pin it. A link that the graph does not have is ErrNoPath: it
// may have had it.
func Pin(g *topo.Graph, ids []string) (*Path, error) {
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: there are none", errLinks)
	}
	var links []*topo.Link
	for i, id := range ids {
		l := g.Link(id)
		switch {
		case l == nil:
			return nil, fmt.Errorf("%w: link %s of the path is no longer in the topology", ErrNoPath, id)
		case i > 0 && links[i-1].To != l.From:
			return nil, fmt.Errorf("%w: link %s begins at %s, and the one before ends at %s", errLinks, id, g.Node(l.From).Label(), g.Node(links[i-1].To).Label())
		}
		links = append(links, l)
	}
	if routers := len(g.Nodes()); len(ids) >= routers {
		return nil, fmt.Errorf("%w: there are %d, and %d routers, so that one comes twice", errLinks, len(ids), routers)
	}
	p := newPath(g, g.Node(links[0].From), links)
	p.Reason = "as it was requested"
	if err := p.passed(g); err != nil {
		return nil, err
	}
	return p, p.pin(g)
}
