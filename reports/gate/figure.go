package gate

import (
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// figure is a metric of a cell, or the quotient of two.
type figure struct {
	name    string
	unit    string
	of, per result.Metric // per: only where quotient
	divided bool
	beside  bool                        // ÷ what the yardstick took
	own     func(*result.Cell) *float64 // in place of the metrics
}

// figureOf reads a metric's path, or two with a slash between.
func figureOf(name string) (figure, error) {
	above, below, divided := strings.Cut(name, "/")
	of, err := result.MetricByName(strings.TrimSpace(above))
	if err != nil {
		return figure{}, fmt.Errorf("%s: %w", strings.TrimSpace(above), err)
	}
	f := figure{name: name, unit: of.Unit, of: of, divided: divided}
	if !divided {
		return f, nil
	}
	if f.per, err = result.MetricByName(strings.TrimSpace(below)); err != nil {
		return figure{}, fmt.Errorf("%s: %w", strings.TrimSpace(below), err)
	}
	f.name = f.of.Name + " / " + f.per.Name
	if f.per.Unit != "" {
		f.unit += "/" + f.per.Unit
	}
	return f, nil
}

// value of a cell, nil where it is not known.
func (f figure) value(c *result.Cell) *float64 {
	if f.own != nil {
		return f.own(c)
	}
	v := f.of.Of(c)
	if f.divided {
		v = quotient(v, f.per.Of(c))
	}
	if f.beside {
		v = quotient(v, beside(c))
	}
	return v
}

func quotient(v, per *float64) *float64 {
	if v == nil || per == nil || *per == 0 {
		return nil
	}
	return new(*v / *per)
}
