package apply

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"github.com/millrace/millrace/services/routeragent/intent"
	"github.com/millrace/millrace/services/routeragent/kernel"
	"github.com/millrace/millrace/services/routeragent/tree"
)

// speeds are the last known speeds of ports. A port that loses its carrier no longer has a speed, and what was
// computed from it stays in force: the carrier comes back. They are on disk, because an agent or a router may start
// meanwhile.
type speeds struct {
	// file is empty where they are in memory only.
	file string
	mu   sync.Mutex
	// known are bit/s by port.
	known map[string]uint64
	// late is set while the file is behind.
	late bool
}

const speedsName = "speeds.json"

// speedsForm is that of the file; see journalForm.
const speedsForm = 1

type speedsFile struct {
	Form   int               `json:"form"`
	Speeds map[string]uint64 `json:"speeds"`
}

func newSpeeds(dir string) *speeds {
	return &speeds{file: filepath.Join(dir, speedsName), known: map[string]uint64{}}
}

// read takes over the speeds of the file. No file keeps an agent from starting, as a port with a carrier tells its
// speed: one that cannot be read is moved aside, and one of a newer agent is left to that one.
func (s *speeds) read(log *slog.Logger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := os.ReadFile(s.file)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var f speedsFile
	if err == nil {
		err = kernel.Decode(s.file, raw, speedsForm, &f)
	}
	switch {
	case err == nil:
		maps.Copy(s.known, f.Speeds)
	case errors.Is(err, kernel.ErrNewer):
		log.Error("the last known speeds of ports are a newer agent's, and left to it; started without them", "file", s.file)
		s.file = ""
	default:
		aside := s.file + ".unreadable"
		log.Error("the last known speeds of ports cannot be read; started without them", "file", s.file, "moved to", aside,
			"error", errors.Join(err, os.Rename(s.file, aside)))
	}
}

// last is the last known speed of a port; 0 if there is none.
func (s *speeds) last(port string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[port]
}

// note remembers the speed of a port.
func (s *speeds) note(port string, speed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[port] != speed {
		s.known[port], s.late = speed, true
	}
}

// save writes what was noted. A disk that takes nothing is tried again with the next plan.
func (s *speeds) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.late || s.file == "" {
		return nil
	}
	raw, err := json.Marshal(speedsFile{speedsForm, s.known})
	if err == nil {
		err = kernel.WriteFile(s.file, raw)
	}
	s.late = err != nil
	return err
}

// Hardware is that of the configuration, with the last known speed of a port that has none now. A port whose buffer
// is not given has one of 100 ms.
func (s *Store) Hardware(name string) (intent.Interface, bool) {
	i, ok := s.cfg.Hardware(name)
	if i.Speed == 0 {
		i.Speed = s.speeds.last(name)
	}
	if i.Buffer == 0 {
		i.Buffer = i.Speed / 8 / 10
	}
	return i, ok
}

// compile makes a plan, and remembers the speeds that it is made of.
func (s *Store) compile(config *tree.Node, ids intent.IDs) (intent.Plan, error) {
	plan, err := s.compiler.Compile(config, func(name string) (intent.Interface, bool) {
		i, ok := s.Hardware(name)
		if ok && i.Speed > 0 {
			s.speeds.note(name, i.Speed)
		}
		return i, ok
	}, ids)
	if err := s.speeds.save(); err != nil {
		s.engine.Log.Warn("speeds of ports not written", "error", err)
	}
	return plan, err
}
