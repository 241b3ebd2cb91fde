package plan

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

// fieldError is a *strictyaml.FieldError; the format holds what is wrong and, behind
// a semicolon, what would be right.
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
	for _, check := range []func() error{c.validateModel, c.validateProfile, c.validateStages, c.validateObjects, c.validateHotkeys, c.validateBystander} {
		if err := check(); err != nil {
			all = append(all, err)
		}
	}
	return all
}

func (c *Config) validateRun() error {
	switch {
	case c.RunID == "":
		return fieldError("runID", "is missing; give the run a name of lower-case letters, digits and dashes")
	case len(c.RunID) > MaxRunIDLength:
		return fieldError("runID", "%q has %d characters; at most %d fit into object names", c.RunID, len(c.RunID), MaxRunIDLength)
	case !runIDPattern.MatchString(c.RunID):
		return fieldError("runID", "%q cannot be part of an object's name; use lower-case letters, digits and inner dashes", c.RunID)
	}
	return nil
}

func (c *Load) validateModel() error {
	if c.Duration > MaxDuration {
		return fieldError("duration", "%s is too long; use at most %s", c.Duration, MaxDuration)
	}
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
	case c.Threads < 1 || c.Threads > MaxThreads:
		return fieldError("threads", "%d is out of range; a closed loop needs 1 to %d threads", c.Threads, MaxThreads)
	case c.Operations < 0 || c.Operations > MaxOperations:
		return fieldError("operations", "%d is out of range; use 1 to %d, or leave it out", c.Operations, MaxOperations)
	case c.Operations == 0 && c.Duration == 0:
		return fieldError("operations", "is missing; a closed loop ends after a number of operations, a duration, or the first of both")
	case c.ThinkTime > MaxDuration:
		return fieldError("thinkTime", "%s is too long; use at most %s", c.ThinkTime, MaxDuration)
	case c.Rate != 0:
		return fieldError("rate", "belongs to the open model; drop it, or set model: open and drop threads")
	case c.Arrival != "":
		return fieldError("arrival", "belongs to the open model; a closed loop sends when a thread is free")
	case c.MaxInFlight != 0:
		return fieldError("maxInFlight", "belongs to the open model; a closed loop has one request under way per thread")
	}
	written := c.sections()
	for _, k := range arrivalKinds {
		if written[k.section] {
			return fieldError(k.section, "belongs to the open model")
		}
	}
	return nil
}

func (c *Load) validateOpen() error {
	switch {
	case len(c.Steps) > 0 && c.Rate != 0, len(c.Trace) > 0 && c.Rate != 0:
		return fieldError("rate", "has no effect beside steps or a trace; drop it")
	case !(c.Rate >= 0 && c.Rate <= MaxRate), c.Rate == 0 && c.arrival() != ArrivalStep && c.arrival() != ArrivalTrace && c.arrival() != ArrivalCron:
		return fieldError("rate", "%v is out of range; an open loop needs more than 0 and at most %d requests per second", c.Rate, MaxRate)
	case c.Duration == 0:
		return fieldError("duration", "is missing; an open loop needs the time it lasts, such as 30s")
	case c.Threads != 0:
		return fieldError("threads", "belongs to the closed model; drop it, or set model: closed and drop rate")
	case c.Operations != 0:
		return fieldError("operations", "belongs to the closed model; an open loop sends rate × duration operations")
	case c.ThinkTime != 0:
		return fieldError("thinkTime", "belongs to the closed model; an open loop sends at given times")
	case c.MaxInFlight < 0 || c.MaxInFlight > MaxInFlight:
		return fieldError("maxInFlight", "%d is out of range; use 1 to %d", c.MaxInFlight, MaxInFlight)
	}
	return c.validateArrival()
}

func (c *Load) validateObjects() error {
	switch {
	case !share(c.Survivors):
		return fieldError("survivors", "%v is not a share; use 0 to 1", c.Survivors)
	case !share(c.Recreate):
		return fieldError("recreate", "%v is not a share; use 0 to 1", c.Recreate)
	case c.Shards < 0 || c.Shards > MaxShards:
		return fieldError("shards", "%d is out of range; use 0 to %d", c.Shards, MaxShards)
	case c.ObjectBytes < MinObjectBytes || c.ObjectBytes > MaxObjectBytes:
		return fieldError("objectBytes", "%s is out of range; a ready pod takes %s to %s", c.ObjectBytes, MinObjectBytes, MaxObjectBytes)
	case c.Namespaces < 1 || c.Namespaces > MaxNamespaces:
		return fieldError("namespaces", "%d is out of range; use 1 to %d", c.Namespaces, MaxNamespaces)
	case c.Nodes < 1 || c.Nodes > MaxNodes:
		return fieldError("nodes", "%d is out of range; use 1 to %d", c.Nodes, MaxNodes)
	case c.Prefill < 0 || c.Prefill > MaxPrefill:
		return fieldError("prefill", "%d is out of range; use 0 to %d", c.Prefill, MaxPrefill)
	case c.Warmup.Operations < 0 || c.Warmup.Operations > MaxOperations:
		return fieldError("warmup.operations", "%d is out of range; use 0 to %d", c.Warmup.Operations, MaxOperations)
	}
	return nil
}

func (c *Load) validateBystander() error {
	b := c.Bystander
	switch {
	case b == nil:
		return nil
	case b.Kind != KindConfigMap:
		return fieldError("bystander.kind", "%q is not supported; use %s", b.Kind, KindConfigMap)
	case !(b.Rate > 0 && b.Rate <= MaxBystanderRate):
		return fieldError("bystander.rate", "%v is out of range; use more than 0 and at most %d updates per second", b.Rate, MaxBystanderRate)
	case b.Objects < 0 || b.Objects > MaxPrefill:
		return fieldError("bystander.objects", "%d is out of range; use 1 to %d", b.Objects, MaxPrefill)
	case b.ObjectBytes != 0 && (b.ObjectBytes < MinBystanderSize || b.ObjectBytes > MaxObjectBytes):
		return fieldError("bystander.objectBytes", "%s is out of range; use %s to %s", b.ObjectBytes, MinBystanderSize, MaxObjectBytes)
	}
	return nil
}

// at is the path of an item of a list.
func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// share reports whether v lies within 0 and 1; NaN does not.
func share(v float64) bool { return !math.IsNaN(v) && v >= 0 && v <= 1 }
