package party

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
)

// announcement is the line that mock and proxy print once they listen.
type announcement struct {
	Listen []string `json:"listen"`
	Admin  string   `json:"admin"`
}

// announce starts a program whose first line on standard output names its addresses.
func announce(ctx context.Context, ch child, said *announcement) (*Process, error) {
	first := make(chan []byte, 1) // one announcement, taken below or never
	ch.lines = func(line []byte) {
		select {
		case first <- append([]byte(nil), line...):
		default:
		}
	}
	p, err := start(ch)
	if err != nil {
		return nil, err
	}
	err = p.Await(ctx, "the announcement of "+ch.name, 5*time.Millisecond, startLimit, func(context.Context) bool {
		select {
		case line := <-first:
			return json.Unmarshal(line, said) == nil && said.Admin != "" && len(said.Listen) > 0
		default:
			return false
		}
	})
	if err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// Faults lists the faults in force with how often each fired.
func (a admin) Faults(ctx context.Context) ([]history.Firing, error) {
	data, err := a.call(ctx, http.MethodGet, "/faults", "")
	if err != nil {
		return nil, err
	}
	var list []history.Firing
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the faults in force: %w", err)
	}
	return list, nil
}

// Heal ends the faults and returns how often each fired.
func (a admin) Heal(ctx context.Context) ([]history.Firing, error) {
	fired, err := a.Faults(ctx)
	if err != nil {
		return nil, err
	}
	_, err = a.call(ctx, http.MethodDelete, "/faults", "")
	return fired, err
}
