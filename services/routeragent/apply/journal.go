package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// The journal is what survives the agent: the running configuration, and while
// a commit waits for its confirmation, the one before it. A configuration is
// kept in parts, a file for each top-level container, named by its content; the
// journal proper is a short list of parts. So a change of a weight beside 20,000
// prefix pairs writes the weights, and a confirmation writes the list.
//
// The parts are written before the router changes, and the list is replaced by one
// rename after the change. A crash in between leaves the old list, and the next
// start converges to it.
type journal struct {
	dir string
	// parts are the nodes that are on disk already. A node never changes once it is running.
	parts map[*tree.Node]string
	ids   idsPart
}

type idsPart struct {
	file string
	ids  intent.IDs
}

const (
	journalName = "running.json"
	partPrefix  = "part-"
)

// snapshot is a configuration on disk.
type snapshot struct {
	Parts []string `json:"parts"`
	IDs   string   `json:"numbers_part"`
}

// journalForm is that of the list, which this agent writes; it reads all before it. A member that is added makes
// another form: an older agent refuses it, rather than to write the list without it.
const journalForm = 1

// list is the journal proper.
type list struct {
	// Form is 0 in a journal from before forms were counted.
	Form int `json:"form"`
	snapshot
	Pending *pendingList `json:"pending,omitempty"`
}

type pendingList struct {
	ID       string    `json:"id"`
	Deadline time.Time `json:"deadline"`
	Previous snapshot  `json:"previous"`
}

// record is the journal in memory.
type record struct {
	Config  *tree.Node
	IDs     intent.IDs
	Pending *pending
}

// pending is a commit that waits for its confirmation.
type pending struct {
	ID       string
	Deadline time.Time
	// Config and IDs are those before the commit, to roll back to.
	Config *tree.Node
	IDs    intent.IDs
}

func newJournal(dir string) *journal {
	return &journal{dir: dir, parts: map[*tree.Node]string{}}
}

// read returns what the last write recorded; an empty configuration if nothing did.
func (j *journal) read() (record, error) {
	r := record{Config: tree.New()}
	raw, err := os.ReadFile(filepath.Join(j.dir, journalName))
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read journal: %w", err)
	}
	l, first, err := readList(filepath.Join(j.dir, journalName), raw)
	if err != nil {
		return r, fmt.Errorf("read journal: %w", err)
	}
	if first {
		return readFirstForm(raw)
	}
	if r.Config, r.IDs, err = j.load(l.snapshot); err != nil || l.Pending == nil {
		return r, err
	}
	r.Pending = &pending{ID: l.Pending.ID, Deadline: l.Pending.Deadline}
	r.Pending.Config, r.Pending.IDs, err = j.load(l.Pending.Previous)
	return r, err
}

// readList reads the list, or finds that the file has everything, as that of the first release.
func readList(file string, raw []byte) (l list, first bool, err error) {
	var of struct {
		IDs     string          `json:"numbers_part"`
		Numbers json.RawMessage `json:"numbers"`
	}
	if err := json.Unmarshal(raw, &of); err == nil && of.IDs == "" && of.Numbers != nil {
		return l, true, nil
	}
	return l, false, kernel.Decode(file, raw, journalForm, &l)
}

// readFirstForm reads a journal of the first release, which held everything in one file.
func readFirstForm(raw []byte) (record, error) {
	type whole struct {
		Config  json.RawMessage `json:"config"`
		IDs     intent.IDs      `json:"numbers"`
		Pending *struct {
			ID       string          `json:"id"`
			Deadline time.Time       `json:"deadline"`
			Config   json.RawMessage `json:"previous_config"`
			IDs      intent.IDs      `json:"previous_numbers"`
		} `json:"pending"`
	}
	var w whole
	if err := json.Unmarshal(raw, &w); err != nil {
		return record{}, fmt.Errorf("read journal: %w", err)
	}
	config, err := tree.FromJSON(w.Config)
	if err != nil {
		return record{}, fmt.Errorf("read journal: %w", err)
	}
	r := record{Config: config, IDs: w.IDs}
	if w.Pending == nil {
		return r, nil
	}
	r.Pending = &pending{ID: w.Pending.ID, Deadline: w.Pending.Deadline, IDs: w.Pending.IDs}
	r.Pending.Config, err = tree.FromJSON(w.Pending.Config)
	return r, err
}

func (j *journal) load(s snapshot) (*tree.Node, intent.IDs, error) {
	config, ids := tree.New(), intent.IDs{}
	raw, err := os.ReadFile(filepath.Join(j.dir, s.IDs))
	if err == nil {
		err = kernel.Decode(filepath.Join(j.dir, s.IDs), raw, journalForm, &ids)
	}
	if err != nil {
		return nil, ids, fmt.Errorf("read journal: %w", err)
	}
	for _, file := range s.Parts {
		raw, err := os.ReadFile(filepath.Join(j.dir, file))
		if err != nil {
			return nil, ids, fmt.Errorf("read journal: %w", err)
		}
		part, err := tree.FromJSON(raw)
		if err != nil {
			return nil, ids, fmt.Errorf("read journal: %w", kernel.Newer(filepath.Join(j.dir, file), err))
		}
		config.Merge(part)
	}
	return config, ids, nil
}

// store writes the parts of a configuration that are not on disk yet. No list names them before commit.
func (j *journal) store(config *tree.Node, ids intent.IDs) (snapshot, error) {
	var s snapshot
	for _, name := range slices.Sorted(maps.Keys(config.Members)) {
		file, err := j.part(config.Members[name])
		if err != nil {
			return s, err
		}
		s.Parts = append(s.Parts, file)
	}
	if j.ids.file == "" || !sameIDs(j.ids.ids, ids) {
		raw, err := json.Marshal(ids)
		if err != nil {
			return s, err
		}
		file, err := j.write(raw)
		if err != nil {
			return s, err
		}
		j.ids = idsPart{file, ids}
	}
	s.IDs = j.ids.file
	return s, nil
}

func sameIDs(a, b intent.IDs) bool {
	return maps.Equal(a.Classes, b.Classes) && maps.Equal(a.Paths, b.Paths) && maps.Equal(a.Counters, b.Counters) && maps.Equal(a.Policers, b.Policers)
}

// part is the file of one top-level container.
func (j *journal) part(n *tree.Node) (string, error) {
	if file, ok := j.parts[n]; ok {
		return file, nil
	}
	raw, _ := (&tree.Node{Schema: tree.Root(), Members: map[string]*tree.Node{n.Schema.Name: n}}).AppendJSON(nil, tree.All)
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	file, err := j.write(raw)
	if err == nil {
		j.parts[n] = file
	}
	return file, err
}

// write writes a file that is named by its content, unless it exists.
func (j *journal) write(raw []byte) (string, error) {
	sum := sha256.Sum256(raw)
	file := partPrefix + hex.EncodeToString(sum[:16]) + ".json"
	path := filepath.Join(j.dir, file)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(raw)) {
		return file, nil
	}
	return file, kernel.WriteFile(path, raw)
}

// commit replaces the list, and removes parts that it no longer names.
func (j *journal) commit(s snapshot, p *pending) error {
	l := list{Form: journalForm, snapshot: s}
	keep := map[string]bool{s.IDs: true}
	for _, part := range s.Parts {
		keep[part] = true
	}
	if p != nil {
		previous, err := j.store(p.Config, p.IDs)
		if err != nil {
			return err
		}
		l.Pending = &pendingList{ID: p.ID, Deadline: p.Deadline, Previous: previous}
		keep[previous.IDs] = true
		for _, part := range previous.Parts {
			keep[part] = true
		}
	}
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := kernel.WriteFile(filepath.Join(j.dir, journalName), raw); err != nil {
		return err
	}
	j.sweep(keep)
	return nil
}

// sweep removes parts that are not in the list. One that cannot be removed costs space and nothing else.
func (j *journal) sweep(keep map[string]bool) {
	maps.DeleteFunc(j.parts, func(_ *tree.Node, file string) bool { return !keep[file] })
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), partPrefix) && !keep[f.Name()] {
			_ = os.Remove(filepath.Join(j.dir, f.Name()))
		}
	}
	if !keep[j.ids.file] {
		j.ids = idsPart{}
	}
}

// save is store and commit.
func (j *journal) save(r record) error {
	s, err := j.store(r.Config, r.IDs)
	if err != nil {
		return err
	}
	return j.commit(s, r.Pending)
}
