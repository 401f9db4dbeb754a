package intent

import (
	"strings"

	"github.com/millrace/millrace/services/routeragent/kernel"
)

// discipline reads one queue discipline out of a queue-management-profile.
type discipline struct {
	// path below the profile. Where it exists, queues of the profile have the discipline.
	path string
	read func(view) (kernel.Discipline, error)
}

// disciplines are the queue disciplines, one file each; their leaves are in Supported.
var disciplines = []discipline{red, wred}

// readDisciplines reads the queue disciplines of a port's queues, by queue. Queues of none are not in it.
func (c *compiler) readDisciplines(port view, queues []queue) (map[string]kernel.Discipline, error) {
	out := map[string]kernel.Discipline{}
	known := map[string]bool{}
	for _, q := range queues {
		known[q.name] = true
	}
	for _, q := range port.at("output", "queues", "queue").entries() {
		name := q.text("config", "queue-management-profile")
		if name == "" {
			continue
		}
		if !known[q.text("name")] {
			return nil, invalid(q.path, "no scheduler of the port serves this queue")
		}
		profile := c.root.at("qos", "queue-management-profiles", "queue-management-profile").entry(name)
		if !profile.exists() {
			return nil, invalid(q.path+"/config/queue-management-profile", "there is no profile %q", name)
		}
		d, err := readDiscipline(profile)
		if err != nil {
			return nil, err
		}
		if d != nil {
			out[q.text("name")] = d
		}
	}
	return out, nil
}

// readDiscipline reads the one discipline of a profile; nil if it has none.
func readDiscipline(profile view) (kernel.Discipline, error) {
	var given []discipline
	for _, d := range disciplines {
		if profile.at(strings.Split(d.path, "/")...).exists() {
			given = append(given, d)
		}
	}
	switch len(given) {
	case 0:
		return nil, nil
	case 1:
		return given[0].read(profile.at(strings.Split(given[0].path, "/")...))
	}
	return nil, invalid(profile.path, "has %s and %s; give one or the other", given[0].path, given[1].path)
}
