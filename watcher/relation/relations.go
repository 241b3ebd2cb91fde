package relation

import (
	"context"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Path is where Relations are asked for.
const Path = "/v1/relations"

// Kinds opens what is followed.
type Kinds interface {
	Served() *watches.Catalogue
	Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error)
}

// Settings are passed by code.
type Settings struct {
	Kinds Kinds
	// Followed returns what is followed already.
	Followed func() []watches.GVR
	Guard    access.Guard
}

// Relations answers queries. Its methods may be called from several goroutines.
type Relations struct {
	cfg Config
	set Settings
}

// New checks both.
func New(c Config, s Settings) (*Relations, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Relations{c, s}, nil
}
