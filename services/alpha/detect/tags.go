package detect

import "github.com/millrace/millrace/internal/scitags"

// Tags are whose a pair's flows were and what for (SciTags), in the window in which one was last found alpha.
type Tags struct {
	// Sent is what all flows of the pair sent, with tags and without.
	Sent uint64
	// Of each tag, most bytes first.
	Of []TagBytes
}

// TagBytes is what flows with a tag sent.
type TagBytes struct {
	Tag                 scitags.Tag
	Community, Activity string // their names, or numbers
	Bytes               uint64
}

// Fresh are the pairs with new evidence: of these the tags are looked up.
func (r *Result) Fresh() []Key {
	var keys []Key
	for _, pairs := range [][]Pair{r.Added, r.Refreshed} {
		for _, p := range pairs {
			keys = append(keys, p.Key)
		}
	}
	return keys
}

// Tag sets the tags of the pairs that are named.
func (r *Result) Tag(tags map[Key]Tags) {
	for _, pairs := range [][]Pair{r.Pairs, r.Added, r.Refreshed} {
		for i := range pairs {
			if t, ok := tags[pairs[i].Key]; ok {
				pairs[i].Tags = t
			}
		}
	}
}
