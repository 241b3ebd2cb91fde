package watchfault

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

type request struct {
	verb     string
	resource string // plural; empty for other paths
	path     string
}

// classify recognises lists and watches by the form of the URL.
func classify(r *http.Request) request {
	req := request{verb: Other, path: r.URL.Path}
	p, _, resource, err := kubeapi.ParsePath(r.URL.Path)
	if !resource || err != nil {
		return req
	}
	if req.resource = p.Resource; r.Method != http.MethodGet || p.Name != "" {
		return req
	}
	q := r.URL.Query()
	switch {
	case on(q, "watch") && on(q, "sendInitialEvents"):
		req.verb = Stream
	case on(q, "watch"):
		req.verb = Watch
	case q.Get("continue") != "":
		req.verb = Page
	default:
		req.verb = List
	}
	return req
}

func on(q url.Values, name string) bool {
	v, given := q[name]
	return given && v[0] != "0" && !strings.EqualFold(v[0], "false")
}

func (s *Spec) selects(r request) bool {
	return slices.Contains(s.Verbs, r.verb) && (len(s.Kinds) == 0 || slices.Contains(s.Kinds, r.resource))
}

// preferJSON drops other encodings from what a watch accepts, where JSON is among them: frames are read as lines of
// JSON.
func preferJSON(h http.Header) {
	var plain []string
	for _, one := range strings.Split(strings.Join(h.Values("Accept"), ","), ",") {
		if media, _, _ := strings.Cut(one, ";"); strings.TrimSpace(media) == "application/json" {
			plain = append(plain, strings.TrimSpace(one))
		}
	}
	if len(plain) > 0 {
		h.Set("Accept", strings.Join(plain, ","))
	}
}
