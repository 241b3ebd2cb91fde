package plan

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

// fieldError is a *strictyaml.FieldError; the format holds what is wrong and, behind a semicolon, what would be right.
func fieldError(field, format string, args ...any) error {
	problem, remedy, _ := strings.Cut(fmt.Sprintf(format, args...), "; ")
	return &strictyaml.FieldError{Path: field, Problem: problem, Remedy: remedy}
}

var runIDPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// Validate reports the first wrong field as a *strictyaml.FieldError.
func (c *Config) Validate() error {
	if err := c.validateRun(); err != nil {
		return err
	}
	return c.Load.Validate()
}

// Validate reports the first wrong field as a *strictyaml.FieldError.
func (c *Load) Validate() error {
	for _, err := range c.Problems() {
		return err
	}
	return nil
}

// Problems reports the first wrong field of each part, as Validate does.
func (c *Load) Problems() (all []error) {
	checks := []func() error{c.validateModel, c.validateStages}
	if err := withinTags(reflect.ValueOf(*c), ""); err != nil {
		all = append(all, err)
	} else {
		checks = append(checks, c.validateProfile)
	}
	if c.Bystander != nil && c.Bystander.Kind != KindConfigMap {
		all = append(all, fieldError("bystander.kind", "%q is not supported; use %s", c.Bystander.Kind, KindConfigMap))
	}
	for _, check := range checks {
		if err := check(); err != nil && !slices.ContainsFunc(all, func(other error) bool { return sameField(err, other) }) {
			all = append(all, err)
		}
	}
	return all
}

func sameField(a, b error) bool {
	var x, y *strictyaml.FieldError
	return errors.As(a, &x) && errors.As(b, &y) && x.Path == y.Path
}

func (c *Config) validateRun() error {
	switch {
	case c.RunID == "":
		return fieldError("runID", "is missing; give the run a name of lower-case letters, digits and dashes")
	case len(c.RunID) > MaxRunIDLength:
		return fieldError("runID", "%q has %d characters; at most %d fit into object names", c.RunID, len(c.RunID),
			MaxRunIDLength)
	case !runIDPattern.MatchString(c.RunID):
		return fieldError("runID", "%q cannot be part of an object's name; use lower-case letters, digits and inner dashes",
			c.RunID)
	}
	return nil
}

func (c *Load) validateModel() error {
	switch c.Model {
	case ModelClosed:
		return c.validateClosed()
	case ModelOpen:
		return c.validateOpen()
	case "":
		return fieldError("model", "is missing; use closed (threads) or open (rate)")
	default:
		return fieldError("model", "%q is not known; use closed (threads) or open (rate)", c.Model)
	}
}

func (c *Load) validateClosed() error {
	switch {
	case c.Threads < 1:
		return fieldError("threads", "%d is out of range; a closed loop needs 1 to %d threads", c.Threads, MaxThreads)
	case c.Operations == 0 && c.Duration == 0:
		return fieldError("operations",
			"is missing; a closed loop ends after a number of operations, a duration, or the first of both")
	case c.Rate != 0:
		return fieldError("rate", "belongs to the open model; drop it, or set model: open and drop threads")
	case c.Arrival != "":
		return fieldError("arrival", "belongs to the open model; a closed loop sends when a thread is free")
	case len(c.Steps) > 0:
		return fieldError("steps", "belongs to the open model; a closed loop sends when a thread is free")
	case c.MaxInFlight != 0:
		return fieldError("maxInFlight", "belongs to the open model; a closed loop has one request under way per thread")
	}
	return nil
}

func (c *Load) validateOpen() error {
	switch {
	case c.Rate == 0 && len(c.Steps) == 0:
		return fieldError("rate", "%v is out of range; an open loop needs more than 0 and at most %d requests per second",
			c.Rate, MaxRate)
	case c.Duration == 0:
		return fieldError("duration", "is missing; an open loop needs the time it lasts, such as 30s")
	case c.Threads != 0:
		return fieldError("threads", "belongs to the closed model; drop it, or set model: closed and drop rate")
	case c.Operations != 0:
		return fieldError("operations", "belongs to the closed model; an open loop sends rate × duration operations")
	case c.ThinkTime != 0:
		return fieldError("thinkTime", "belongs to the closed model; an open loop sends at given times")
	}
	return c.validateArrival()
}
