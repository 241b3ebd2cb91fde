package spec

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// A load may be a part of what the watcher can carry: load.ofCapacity. The section
// calibrate then says how that is found out: for each watcher and storage of the matrix,
// one cell runs first whose load (and drainTimeout, limits) is that of the section.

// calibrationLabel stands for the load of a calibration in names and parameters.
const calibrationLabel = "calibrate"

// calibrateSections are what the section may set.
var calibrateSections = []string{"load", "drainTimeout", "limits"}

// At is the load with the rate that is its part of a capacity, in writes per second.
func (l Load) At(capacity float64) Load {
	l.Load = l.WithMeanRate(float64(l.OfCapacity) * capacity)
	return l
}

// validateShare looks at what goes together with a part of the capacity.
func (l *Load) validateShare() error {
	burst := l.Burst
	switch {
	case l.OfCapacity == 0:
		return nil
	case l.Model == plan.ModelClosed:
		return bad("load.ofCapacity", "set model: open, or drop it", "belongs to the open model; a closed loop has no rate")
	case l.Rate != 0:
		return bad("load.ofCapacity", "keep one of them", "rate and ofCapacity exclude each other")
	case l.Profile != "":
		return bad("load.ofCapacity", "give a rate in pods per second", "the capacity is in writes per second, and the rate of a profile in pods")
	case l.Arrival == plan.ArrivalRamp, l.Arrival == plan.ArrivalStep, l.Arrival == plan.ArrivalTrace, l.Arrival == plan.ArrivalCron:
		return bad("load.ofCapacity", "use constant, poisson, burst, mmpp or diurnal", "arrival: %s has no one rate", l.Arrival)
	case burst != nil && burst.Base != 0:
		return bad("load.burst.base", "drop it", "with ofCapacity all writes come in the bursts, so that their mean rate is the part asked for")
	case burst != nil && burst.Period > 0 && l.Duration%burst.Period != 0:
		return bad("load.duration", "use a multiple of "+burst.Period.String(), "%s ends within a period of the bursts, so their mean rate would not be the part of the capacity asked for", l.Duration)
	}
	return nil
}

func (f *File) parseCalibrate(n *yaml.Node) (*yaml.Node, error) {
	const example = "write for example calibrate: {load: {model: closed, threads: 60, duration: 8s}}"
	if n == nil || strictyaml.IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, f.tree.Fail(n, "calibrate", "not a mapping", example)
	}
	load := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !slices.Contains(calibrateSections, key.Value) {
			return nil, f.tree.Fail(key, "calibrate."+key.Value, "a calibration cannot set it", oneOf(calibrateSections))
		}
		if key.Value != "load" {
			continue
		}
		if value.Kind != yaml.MappingNode || len(value.Content) == 0 {
			return nil, f.tree.Fail(value, "calibrate.load", "a load without fields", example)
		}
		if of := strictyaml.Remove(strictyaml.Clone(value), "ofCapacity"); of != nil {
			return nil, f.tree.Fail(of, "calibrate.load.ofCapacity", "a calibration measures the capacity", "give its load threads or a rate above it")
		}
		load = true
	}
	if !load {
		return nil, f.tree.Fail(n, "calibrate.load", "missing", example)
	}
	return n, nil
}

// ofLoad says whether an axis sets the load, which a calibration has of its own.
func (a axis) ofLoad() bool { return a.path == "load" || strings.HasPrefix(a.path, "load.") }

// addCalibrations puts a calibration before the cells for each watcher and storage that
// has a load which is a part of its capacity. Taken are the IDs of the cells.
func (f *File) addCalibrations(taken map[string]bool) error {
	var all []Cell
	for i := range f.cells {
		c := &f.cells[i]
		if c.Scenario.Load.OfCapacity == 0 {
			continue
		}
		cal, err := f.calibration(c)
		if err != nil {
			return err
		}
		c.Calibration = cal.ID
		if slices.ContainsFunc(all, func(have Cell) bool { return have.ID == cal.ID }) {
			continue
		}
		if taken[cal.ID] {
			return f.tree.Fail(f.calibrate, "calibrate", fmt.Sprintf("its cell and another would both be called %q", cal.ID), "rename the point "+calibrationLabel+" of the matrix")
		}
		all = append(all, cal)
	}
	if f.calibrate != nil && len(all) == 0 {
		return f.tree.Fail(f.calibrate, "calibrate", "no load is a part of the capacity", "set load.ofCapacity, or drop calibrate")
	}
	f.cells = append(all, f.cells...)
	return nil
}

// calibration is the cell that measures the capacity for c: the same point of the matrix
// with another load. Overrides of the load are for c, not for it.
func (f *File) calibration(c *Cell) (cal Cell, err error) {
	root := strictyaml.Clone(f.tree.Root)
	var words []string
	loads := slices.Clone(f.axes)
	loads = slices.DeleteFunc(loads, func(a axis) bool { return !a.ofLoad() })
	for i, a := range f.axes {
		value := c.Params[i].Value
		if a.ofLoad() {
			if a.path != loads[0].path {
				continue
			}
			value = calibrationLabel
			cal.Params = append(cal.Params, Param{Name: "load", Value: value})
		} else {
			p := slices.IndexFunc(a.points, func(p point) bool { return p.label == value })
			strictyaml.Put(root, a.path, a.points[p].value)
			cal.Params = append(cal.Params, c.Params[i])
		}
		words = append(words, slug(value))
	}
	if len(loads) == 0 {
		cal.Params = append(cal.Params, Param{Name: "load", Value: calibrationLabel})
		words = append(words, calibrationLabel)
	}
	for _, a := range f.over {
		if a.path != "load" && !strings.HasPrefix(a.path, "load.") {
			strictyaml.Put(root, a.path, a.value)
		}
	}
	for i := 0; i+1 < len(f.calibrate.Content); i += 2 {
		strictyaml.Put(root, f.calibrate.Content[i].Value, f.calibrate.Content[i+1])
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "load" {
			strictyaml.Remove(root.Content[i+1], "ofCapacity")
		}
	}
	cal.ID, cal.Calibrates = strings.Join(words, "-"), true
	if cal.Scenario, err = f.resolveTree(root); err != nil {
		return cal, err
	}
	return cal, nil
}
