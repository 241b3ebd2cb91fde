package watchfault

import (
	"encoding/json"
	"net/http"

	"github.com/watchbench/watchbench/internal/faultlist"
)

// AdminHandler changes the faults in force at run time. It has no authentication: serve it on loopback.
//
//	GET, POST, DELETE /faults  see faultlist.Handler
//	POST /start                let the times of all faults count from now
//
// All of them answer with the list.
func (in *Injector) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/faults", faultlist.Handler(faultlist.Ops{List: in.List, Add: in.Add, Remove: in.Remove}))
	mux.HandleFunc("POST /start", func(w http.ResponseWriter, _ *http.Request) {
		in.Start()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(in.List())
	})
	return mux
}
