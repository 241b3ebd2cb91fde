package gate

import (
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// figure is a metric of a cell, or made of several; its value is nil where it is not known.
type figure struct {
	unit  string
	value func(*result.Cell) *float64
}

// figureOf reads a metric's path, or two with a slash between.
func figureOf(name string) (figure, error) {
	above, below, divided := strings.Cut(name, "/")
	of, err := result.MetricByName(strings.TrimSpace(above))
	if err != nil {
		return figure{}, fmt.Errorf("%s: %w", strings.TrimSpace(above), err)
	}
	if !divided {
		return figure{of.Unit, of.Of}, nil
	}
	per, err := result.MetricByName(strings.TrimSpace(below))
	if err != nil {
		return figure{}, fmt.Errorf("%s: %w", strings.TrimSpace(below), err)
	}
	unit := of.Unit
	if per.Unit != "" {
		unit += "/" + per.Unit
	}
	return figure{unit, func(c *result.Cell) *float64 { return quotient(of.Of(c), per.Of(c)) }}, nil
}

func quotient(v, per *float64) *float64 {
	if v == nil || per == nil || *per == 0 {
		return nil
	}
	return new(*v / *per)
}
