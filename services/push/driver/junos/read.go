package junos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millrace/millrace/internal/gnmiclient"
	"github.com/millrace/millrace/internal/junosconf"
	"github.com/millrace/millrace/services/push/driver"
)

// errSilent means that a router answered without its own version, which every
// configuration has, so the answer may lack more.
var errSilent = errors.New("the answer is empty")

// Snapshot implements driver.Driver. It reads the version too, which distinguishes an absent group from an
// empty answer.
func (r *router) Snapshot(ctx context.Context) (driver.Snapshot, error) {
	s := driver.Snapshot{Entries: map[string]string{}}
	var why []string
	for _, method := range r.profile.Reads {
		text, err := r.read(r.As(ctx), method)
		switch {
		case err == nil && text == "":
			return s, nil
		case err == nil:
			s.Entries[junosconf.EntryPath] = text
			return s, nil
		case errors.Is(driver.Lost(err), driver.ErrLost):
			return s, driver.Lost(err)
		}
		why = append(why, fmt.Sprintf("as %s: %v", method, err))
	}
	return s, fmt.Errorf("the running config of %s cannot be read, so nothing can be compared (%s)", r.Name, strings.Join(why, "; "))
}

func (r *router) read(ctx context.Context, method Read) (string, error) {
	if method == ReadText {
		return r.readText(ctx)
	}
	return r.readLeaves(ctx)
}

// readText reads the group as `show configuration` prints it.
func (r *router) readText(ctx context.Context) (string, error) {
	version, err := r.getText(ctx, "version")
	if err == nil && version == "" {
		err = errSilent
	}
	if err != nil {
		return "", err
	}
	inside, err := r.getText(ctx, "groups", junosconf.Group)
	if err != nil {
		return "", err
	}
	applied, err := r.getText(ctx, "apply-groups")
	if err != nil {
		return "", err
	}
	text := ""
	if inside != "" {
		text = "groups " + junosconf.Group + " {\n" + inside + "\n}\n"
	}
	if slices.ContainsFunc(strings.FieldsFunc(applied, func(c rune) bool { return strings.ContainsRune("[]; \n", c) }), func(w string) bool { return w == junosconf.Group }) {
		text += "apply-groups " + junosconf.Group + ";\n"
	}
	return canonical(text), nil
}

// canonical spells text as rendered plans are spelt. Statements that no plan has
// were added by hand and stay as they are: the diff shows them.
func canonical(text string) string {
	t, err := junosconf.Parse(text)
	if err != nil {
		return text
	}
	return t.Text()
}

// getText is empty where nothing is configured.
func (r *router) getText(ctx context.Context, path ...string) (string, error) {
	p := &gnmi.Path{Origin: "cli"}
	for _, name := range path {
		p.Elem = append(p.Elem, &gnmi.PathElem{Name: name})
	}
	answer, err := r.Client.GetRaw(ctx, &gnmi.GetRequest{Type: gnmi.GetRequest_CONFIG, Encoding: gnmi.Encoding_ASCII, Path: []*gnmi.Path{p}})
	if status.Code(err) == codes.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, n := range answer.GetNotification() {
		for _, u := range n.GetUpdate() {
			text := u.GetVal().GetAsciiVal()
			if text == "" {
				text, _ = gnmiclient.String(u.GetVal())
			}
			b.WriteString(text)
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// readLeaves reads the group leaf by leaf.
func (r *router) readLeaves(ctx context.Context) (string, error) {
	group := &gnmi.PathElem{Name: "groups", Key: map[string]string{"name": junosconf.Group}}
	answers, err := r.once(ctx,
		[]*gnmi.PathElem{{Name: "configuration"}, {Name: "version"}},
		[]*gnmi.PathElem{{Name: "configuration"}, {Name: "apply-groups"}},
		[]*gnmi.PathElem{{Name: "configuration"}, group},
	)
	if err != nil {
		return "", err
	}
	t, alive, unknown := junosconf.New(), false, ""
	for _, a := range answers {
		path := a.path
		if len(path) > 0 && bare(path[0].Name) == "configuration" {
			path = path[1:]
		}
		switch {
		case len(path) == 0:
		case bare(path[0].Name) == "version":
			alive = true
		case bare(path[0].Name) == "apply-groups":
			if slices.Contains(flatten(a.value), junosconf.Group) {
				err = t.Set("apply-groups", junosconf.Group)
			}
		case path[0].Keys["name"] == junosconf.Group:
			if why := t.SetLeaf(path, a.value); why != nil {
				unknown += fmt.Sprintf("# %v: %v\n", path, why)
			}
		}
	}
	if !alive {
		return "", errSilent
	}
	return t.Text() + unknown, err
}

func bare(name string) string { return name[strings.LastIndex(name, ":")+1:] }

func flatten(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	out := make([]string, len(list))
	for i, each := range list {
		out[i] = fmt.Sprint(each)
	}
	return out
}

// answer is one value with its whole path.
type answer struct {
	path  []junosconf.Elem
	value any
}

// once subscribes ONCE, in the first encoding in which something comes.
func (r *router) once(ctx context.Context, paths ...[]*gnmi.PathElem) ([]answer, error) {
	var asked []*gnmi.Path
	for _, p := range paths {
		asked = append(asked, &gnmi.Path{Elem: p})
	}
	var last error
	for _, e := range r.profile.Encodings {
		if !r.Client.Speaks(e) {
			continue
		}
		notifications, err := r.Client.Once(ctx, e, asked...)
		var out []answer
		for _, n := range notifications {
			out = append(out, answersOf(n)...)
		}
		if len(out) > 0 || errors.Is(driver.Lost(err), driver.ErrLost) {
			return out, err
		}
		last = err
	}
	return nil, last
}

func answersOf(n *gnmi.Notification) []answer {
	var out []answer
	for _, u := range n.GetUpdate() {
		var path []junosconf.Elem
		for _, e := range gnmiclient.Join(n.GetPrefix(), u.GetPath()).GetElem() {
			path = append(path, junosconf.Elem{Name: e.GetName(), Keys: e.GetKey()})
		}
		out = append(out, answer{path, valueOf(u.GetVal())})
	}
	return out
}

func valueOf(v *gnmi.TypedValue) any {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_UintVal:
		return x.UintVal
	case *gnmi.TypedValue_IntVal:
		return x.IntVal
	case *gnmi.TypedValue_BoolVal:
		return x.BoolVal
	case *gnmi.TypedValue_LeaflistVal:
		var list []any
		for _, each := range x.LeaflistVal.GetElement() {
			list = append(list, valueOf(each))
		}
		return list
	case *gnmi.TypedValue_JsonVal:
		return decoded(x.JsonVal)
	case *gnmi.TypedValue_JsonIetfVal:
		return decoded(x.JsonIetfVal)
	}
	s, _ := gnmiclient.String(v)
	return s
}

func decoded(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(raw)
	}
	return v
}
