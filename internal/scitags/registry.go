package scitags

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Registry has the names of communities and activities. The zero Registry knows none.
type Registry struct {
	communities map[uint16]string
	activities  map[Tag]string
}

// ParseRegistry reads what https://www.scitags.org/api.json has, in the form of
// https://scitags.org/schemas/v1.0.0/registry.schema.json.
func ParseRegistry(raw []byte) (*Registry, error) {
	var w struct {
		Version     int `json:"version"`
		Experiments []struct {
			Name       string `json:"expName"`
			ID         int    `json:"expId"`
			Activities []struct {
				Name string `json:"activityName"`
				ID   int    `json:"activityId"`
			} `json:"activities"`
		} `json:"experiments"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return nil, fmt.Errorf("registry of SciTags: %w", err)
	}
	if w.Version != 1 || len(w.Experiments) == 0 {
		return nil, fmt.Errorf("registry of SciTags: version %d with %d experiments; want version 1 with one at least, as https://www.scitags.org/api.json has them", w.Version, len(w.Experiments))
	}
	r := &Registry{map[uint16]string{}, map[Tag]string{}}
	for _, e := range w.Experiments {
		if e.ID < 1 || e.ID > MaxCommunity || printable(e.Name) == "" {
			return nil, fmt.Errorf("registry of SciTags: experiment %q has id %d; want a name and 1 to %d", e.Name, e.ID, MaxCommunity)
		}
		id := uint16(e.ID)
		if other, twice := r.communities[id]; twice {
			return nil, fmt.Errorf("registry of SciTags: %q and %q both have id %d", other, e.Name, e.ID)
		}
		r.communities[id] = printable(e.Name)
		for _, a := range e.Activities {
			if a.ID < 0 || a.ID > MaxActivity {
				return nil, fmt.Errorf("registry of SciTags: activity %q of %q has id %d; want 0 to %d", a.Name, e.Name, a.ID, MaxActivity)
			}
			r.activities[Tag{id, uint8(a.ID)}] = printable(a.Name)
		}
	}
	return r, nil
}

// Community is the name of the tag's community, or its number.
func (r *Registry) Community(t Tag) string {
	if name := r.communities[t.Community]; name != "" {
		return name
	}
	return strconv.Itoa(int(t.Community))
}

// Activity is the name of the tag's activity, or its number.
func (r *Registry) Activity(t Tag) string {
	if name := r.activities[t]; name != "" {
		return name
	}
	return strconv.Itoa(int(t.Activity))
}
