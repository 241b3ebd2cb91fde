package watchfault

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxAdminText bounds faults sent as a body.
const maxAdminText = 64 << 10

// AdminHandler changes the faults in force at run time. It has no authentication:
// serve it on loopback.
//
//	GET    /faults                       JSON list of Info: the faults in force, with counts
//	POST   /faults                       put the faults of the body, as text, in force
//	DELETE /faults, DELETE /faults?id=N  end all faults, or one
//	POST   /start                        let the times of all faults count from now
//
// All of them answer with the list.
func (in *Injector) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	answer := func(do func(r *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(in.List())
		}
	}
	mux.HandleFunc("GET /faults", answer(func(*http.Request) error { return nil }))
	mux.HandleFunc("POST /faults", answer(func(r *http.Request) error {
		text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxAdminText))
		if err != nil {
			return fmt.Errorf("read the faults: %w", err)
		}
		return in.Add(strings.TrimSpace(string(text)))
	}))
	mux.HandleFunc("DELETE /faults", answer(func(r *http.Request) error {
		text := r.URL.Query().Get("id")
		if text == "" {
			return in.Remove(0)
		}
		id, err := strconv.Atoi(text)
		if err != nil || id < 1 {
			return fmt.Errorf("id=%s: want the number of a fault in force", text)
		}
		return in.Remove(id)
	}))
	mux.HandleFunc("POST /start", answer(func(*http.Request) error {
		in.Start()
		return nil
	}))
	return mux
}
