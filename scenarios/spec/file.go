package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// Bounds on a scenario file; shipped ones are below 4 KiB and 100 nodes.
const (
	MaxBytes = 1 << 20
	MaxDepth = 16
	MaxNodes = 20_000
)

var syntax = strictyaml.Format{
	Noun: "scenario", Start: "apiVersion: " + APIVersion,
	MaxBytes: MaxBytes, MaxDepth: MaxDepth, MaxNodes: MaxNodes,
	Variants: "; use matrix for variants",
	Several:  several,
	Retired:  retired,
}

// retired are fields of former versions, with what to write instead.
var retired = withLoad(map[string]string{
	"cluster.pin":     "leave it out, or start watchbench with taskset",
	"load.generators": "leave it out: one generator sends the load",
	"calibrate":       sweepRates, "load.ofCapacity": sweepRates,
	"readers.connections": "at most 64 GETs are under way", "readers.labelSelector": anyPods,
	"readers.fieldSelector": anyPods,
	"readers.webhookFaults": "leave it out: the receivers work; make robustness has the row of those that fail (F24)",
	"readers.follower":      "start a second k8s-watch with a kubeconfig that leads to the first",
})

// renamed are words of former versions, by field.
var renamed = map[string]string{providerField + "=" + formerSimulated: "use simulated, its name now"}

// withLoad adds those of a plan.
func withLoad(all map[string]string) map[string]string {
	for field, advice := range plan.Retired {
		all["load."+field] = advice
	}
	return all
}

const anyPods = "LISTs are of all Pods, or of readers.limit"

const sweepRates = "sweep the rate, for example matrix: {load.rate: [50, 100, 200]}"

// several is the advice to a user who wrote a list of values for one field.
func several(path string) string {
	if _, axis, ok := strings.Cut(path, "]."); ok && strings.HasPrefix(path, "repeatOnce[") {
		return fmt.Sprintf("for several, write a point each: {%[1]s: a}, {%[1]s: b}", axis)
	}
	return "to try several, use matrix with the key " + path
}

// File is a parsed scenario file with its overrides, before expansion.
type File struct {
	format Format
	tree   *strictyaml.Tree
	name   string
	data   []byte
	axes   []axis
	over   []assignment // by --set, of all but the matrix
	cells  []Cell
	base   Scenario
	only   []map[string]string // points of the matrix to be run; empty is all
}

// Format is the format of scenario files with the kinds of events that a program can carry out.
type Format struct {
	// Events returns one of each kind, anew for each timeline, in the order of the schema.
	Events func() []EventKind
}

func (format Format) kinds() []EventKind {
	if format.Events == nil {
		return nil
	}
	return format.Events()
}

// Param is one coordinate of a cell in the matrix.
type Param struct{ Name, Value string }

// Cell is one point of the matrix, resolved.
type Cell struct {
	ID       string // safe as a folder's name, unique within the scenario
	Params   []Param
	Once     bool // not repeated
	Scenario Scenario
}

// Parse reads a scenario, applies the overrides (path=value) and validates every cell; name is for errors.
func (format Format) Parse(name string, data []byte, sets ...string) (*File, error) {
	t, err := syntax.Parse(name, data)
	if err != nil {
		return nil, err
	}
	t.Overrides = sets
	f := &File{tree: t, format: format, name: name, data: data}
	if f.axes, err = f.parseMatrix(strictyaml.Remove(t.Root, "matrix")); err != nil {
		return nil, err
	}
	// The file alone must have the right shape: a point or an override would hide a value in place of a section.
	if _, _, err := f.decode(t.Root); err != nil {
		return nil, err
	}
	written := slices.Clone(f.axes)
	if f.over, err = f.parseSets(); err != nil {
		return nil, err
	}
	if err := f.checkSequence(slices.Concat(written, f.axes)); err != nil {
		return nil, err
	}
	return f, f.expand()
}

// Source returns Parse's input for this File.
func (f *File) Source() (name string, data []byte, sets []string) {
	return f.name, f.data, f.tree.Overrides
}

// With is the same file with further overrides, which go over those it has.
func (f *File) With(sets ...string) (*File, error) {
	return f.format.Parse(f.name, f.data, slices.Concat(f.tree.Overrides, sets)...)
}

// Base is the scenario without its matrix: what all cells share, and where the fields that a matrix cannot vary stand.
func (f *File) Base() Scenario { return f.base }

// Cells are the points of the matrix, in its written order, one repetition.
func (f *File) Cells() []Cell { return f.cells }

// Record is the scenario as it was run, for the results: what all cells share, and
// the matrix with the points that were chosen.
func (f *File) Record() (map[string]any, error) {
	s, _, err := f.decode(f.merged(nil))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the scenario: %w", err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("encode the scenario: %w", err)
	}
	matrix := map[string]any{}
	for _, a := range f.axes {
		named, values := map[string]any{}, []any{}
		for _, p := range a.points {
			var v any
			if err := p.value.Decode(&v); err != nil {
				return nil, fmt.Errorf("encode the matrix: %w", err)
			}
			named[p.label] = v
			values = append(values, v)
		}
		if a.named {
			matrix[a.path] = named
		} else {
			matrix[a.path] = values
		}
	}
	if len(matrix) > 0 {
		out["matrix"] = matrix
	}
	return out, nil
}

const commandPath = "watcher.command"

// parseSets reads the overrides. matrix.<axis>=a,b chooses or replaces the points of an axis,
// matrix.<axis>.<point>.<field>=value sets a field of one; any other path sets a field, in every cell, over the matrix.
func (f *File) parseSets() ([]assignment, error) {
	var over []assignment
	for i, s := range f.tree.Overrides {
		at := &yaml.Node{Line: strictyaml.OverrideLine(i)}
		path, text, ok := strings.Cut(s, "=")
		path = strings.TrimSpace(path)
		if !ok || path == "" {
			return nil, f.tree.Fail(at, "", "not path=value", "write for example --set load.threads=20")
		}
		if len(s) > 4096 {
			return nil, f.tree.Fail(nil, path, "an override of more than 4096 bytes", "put it into the scenario file")
		}
		if name, ok := strings.CutPrefix(path, "matrix."); ok {
			within, err := f.setInPoint(i, name, text)
			if err == nil && !within {
				err = f.choose(at, name, text)
			}
			if err != nil {
				return nil, err
			}
			continue
		}
		value, err := f.tree.ParseOverride(i, text)
		if err != nil {
			return nil, f.tree.Fail(at, path, "the value is not YAML", "quote it: --set '"+path+"=…'")
		}
		// A field that is an axis of its own is pinned to one point, so that tables still say what was run.
		if j := slices.IndexFunc(f.axes, func(a axis) bool {
			return a.path == path && !a.named
		}); j >= 0 && value.Kind == yaml.ScalarNode {
			f.axes[j].points = []point{{label: value.Value, value: value}}
			if err := f.checkPoints(f.axes[j]); err != nil {
				return nil, err
			}
			continue
		}
		if path != commandPath || !f.fillCommand(value) {
			over = append(over, assignment{path: path, value: value})
		}
	}
	f.dropStrategies(over)
	return over, nil
}

// dropStrategies drops the axis of strategies where an override names another watcher, unless it is asked for.
func (f *File) dropStrategies(over []assignment) {
	const strategy = "watcher.strategy"
	other := slices.ContainsFunc(over, func(a assignment) bool { return a.path == commandPath && a.value.Value != "" })
	asked := slices.ContainsFunc(f.tree.Overrides, func(s string) bool {
		return strings.HasPrefix(s, "matrix."+strategy+"=")
	})
	if other && !asked {
		f.axes = slices.DeleteFunc(f.axes, func(a axis) bool { return a.path == strategy })
	}
}

// merged is the tree with a matrix point, and the overrides over it.
func (f *File) merged(point []assignment) *yaml.Node {
	root := strictyaml.Clone(f.tree.Root)
	for _, a := range slices.Concat(point, f.over) {
		strictyaml.Put(root, a.path, a.value)
	}
	return root
}

// resolve decodes the tree with one matrix point and the overrides merged in, and validates what it says.
func (f *File) resolve(point []assignment) (Scenario, error) {
	s, d, err := f.decode(f.merged(point))
	if err != nil {
		return Scenario{}, err
	}
	return s, d.Locate(s.validate(f.format.kinds(), d.Written))
}

// decode fills a scenario from a tree over the defaults.
func (f *File) decode(root *yaml.Node) (Scenario, *strictyaml.Decoder, error) {
	s := Default()
	d, err := f.tree.Decode(root, &s)
	return s, d, err
}

// count is the number of points that the matrix has, which is bounded.
func (f *File) count() (int, error) {
	count, sizes := 1.0, []string{}
	for _, a := range f.axes {
		count *= float64(len(a.points))
		sizes = append(sizes, fmt.Sprintf("%d of %s", len(a.points), a.path))
	}
	if count > MaxCells {
		return 0, f.tree.Fail(f.axes[len(f.axes)-1].node, "matrix",
			fmt.Sprintf("%.0f points (%s), at most %d are run", count, strings.Join(sizes, " × "), MaxCells),
			"use fewer values, or choose points for a run of their own: --set matrix."+f.axes[0].path+"="+
				f.axes[0].points[0].label)
	}
	return int(count), nil
}

func (f *File) expand() error {
	count, err := f.count()
	if err != nil {
		return err
	}
	if err := f.checkOverlap(); err != nil {
		return err
	}
	ids := map[string]bool{}
	for i := range count {
		var (
			point []assignment
			cell  Cell
			rest  = i
			words []string
		)
		// The last axis varies fastest, as loops written in the file's order would.
		picks := make([]int, len(f.axes))
		for j := len(f.axes) - 1; j >= 0; j-- {
			n := len(f.axes[j].points)
			picks[j], rest = rest%n, rest/n
		}
		for j, a := range f.axes {
			p := a.points[picks[j]]
			point = append(point, assignment{path: a.path, value: p.value})
			cell.Params = append(cell.Params, Param{Name: a.path, Value: p.label})
			words = append(words, slug(p.label))
		}
		if len(f.only) > 0 && !cell.among(f.only) {
			continue
		}
		s, err := f.resolve(point)
		if err != nil {
			return err
		}
		cell.Scenario, cell.Once = s, cell.among(s.RepeatOnce)
		cell.ID = strings.Join(words, "-")
		if cell.ID == "" {
			cell.ID = "only"
		}
		if ids[cell.ID] {
			return f.tree.Fail(f.axes[len(f.axes)-1].node, "matrix", fmt.Sprintf("two cells would both be called %q", cell.ID),
				"give the points names that differ in letters or digits")
		}
		ids[cell.ID] = true
		f.cells = append(f.cells, cell)
	}
	if len(f.cells) == 0 {
		return f.tree.Fail(nil, "only", "no point of the matrix is left to run",
			"name points that are chosen, or leave it out")
	}
	f.base = f.cells[0].Scenario
	return nil
}
