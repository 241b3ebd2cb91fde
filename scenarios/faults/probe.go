package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/watchbench/watchbench/scenarios/party"
)

// probe is a request of which it is known how it must be answered.
type probe struct {
	name   string
	want   int    // status
	items  int    // of a list that must have none: 0; -1: any number; 1: at least that
	token  string // empty: none
	method string // empty: GET
	path   string
	body   func() io.Reader // nil: none
	header http.Header
}

// anyItems is for answers that are no lists.
const anyItems = -1

// podsIn is the path of the Pods of a namespace of the cell's own.
func podsIn(c Cell, n int) string { return "/api/v1/namespaces/" + namespace(c, n) + "/pods" }

// probesOf are the requests; the first is an honest one.
func probesOf(c Cell, a *abuse) []probe {
	ns := "/api/v1/namespaces/" + namespace(c, 0)
	pods := podsIn(c, 0)
	head, _, _ := strings.Cut(a.reader, ".")
	const objects = "/v1/objects:query"
	return []probe{
		{name: "an honest list", want: http.StatusOK, items: 1, token: a.reader, path: pods + "?labelSelector=" + party.RunLabel + "%3D" + c.Run()},
		{name: "an honest list of all", want: http.StatusOK, items: 1, token: a.reader, path: pods},
		{name: "an honest get", want: http.StatusOK, items: anyItems, token: a.reader, path: pods + "/with-canary"},
		{name: "an honest get of a masked ConfigMap", want: http.StatusOK, items: anyItems, token: a.reader, path: ns + "/configmaps/with-canary"},
		{name: "no token", want: http.StatusUnauthorized, items: anyItems, path: pods},
		{name: "no token, discovery", want: http.StatusUnauthorized, items: anyItems, path: "/api/v1"},
		{name: "a token that is none", want: http.StatusUnauthorized, items: anyItems, token: "guess", path: pods},
		{name: "a token with another signature", want: http.StatusUnauthorized, items: anyItems, token: forgedToken(a.reader), path: pods},
		{name: "a token without a signature", want: http.StatusUnauthorized, items: anyItems, token: head + ".e30.", path: pods},
		{name: "a token without rights", want: http.StatusForbidden, items: anyItems, token: a.stranger, path: pods},
		{name: "another namespace", want: http.StatusForbidden, items: anyItems, token: a.reader, path: podsIn(c, 1)},
		{name: "all namespaces", want: http.StatusForbidden, items: anyItems, token: a.reader, path: "/api/v1/pods"},
		{name: "another kind", want: http.StatusForbidden, items: anyItems, token: a.reader, path: ns + "/services"},
		{name: "a Secret", want: http.StatusForbidden, items: anyItems, token: a.reader, path: ns + "/secrets/with-canary"},
		{name: "all Secrets", want: http.StatusForbidden, items: anyItems, token: a.reader, path: ns + "/secrets"},
		{name: "another user", want: http.StatusForbidden, items: anyItems, token: a.reader, path: pods, header: http.Header{"Impersonate-User": {"system:admin"}}},
		{name: "a web page", want: http.StatusForbidden, items: anyItems, token: a.reader, path: pods, header: http.Header{"Origin": {"https://elsewhere.example"}}},
		{name: "a masked label, by its value", want: http.StatusOK, items: 0, token: a.reader, path: pods + "?labelSelector=" + canaryLabel + "%3D" + canaryWord(c, "label")},
		{name: "a masked label, if it is there", want: http.StatusOK, items: 0, token: a.reader, path: pods + "?labelSelector=" + canaryLabel},
		{name: "a field that none may select by", want: http.StatusBadRequest, items: anyItems, token: a.reader, path: pods + "?fieldSelector=spec.hostAliases%3Dx"},
		{name: "deep JSON", want: http.StatusBadRequest, items: anyItems, token: a.reader, method: http.MethodPost, path: objects, body: func() io.Reader {
			return strings.NewReader(`{"gvk":` + strings.Repeat("[", deepJSON) + strings.Repeat("]", deepJSON) + `}`)
		}},
		{name: "a body of 10 MiB", want: http.StatusRequestEntityTooLarge, items: anyItems, token: a.reader, method: http.MethodPost, path: objects, body: func() io.Reader {
			return bytes.NewReader(make([]byte, hugeBody))
		}},
		{name: "a header of 64 KiB", want: http.StatusRequestHeaderFieldsTooLarge, items: anyItems, token: a.reader, path: pods, header: http.Header{"X-Padding": {strings.Repeat("x", 64<<10)}}},
		{name: "a watch more than there may be", want: http.StatusTooManyRequests, items: anyItems, token: a.reader, path: pods + "?watch=true"},
	}
}

// forgedToken is a token whose signature is another's.
func forgedToken(token string) string {
	i := strings.LastIndexByte(token, '.') + 1
	return token[:i] + strings.Repeat("A", len(token)-i)
}

func (p *probe) send(ctx context.Context, client *http.Client, target string) (*http.Response, error) {
	var body io.Reader
	if p.body != nil {
		body = p.body()
	}
	method := p.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, target+p.path, body)
	if err != nil {
		return nil, err
	}
	if p.header != nil {
		req.Header = p.header.Clone()
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	return client.Do(req)
}

// ask returns the status and what could be read of the body.
func (p *probe) ask(ctx context.Context, client *http.Client, target string) (int, []byte, error) {
	resp, err := p.send(ctx, client, target)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	return resp.StatusCode, body, err
}

// itemsIn counts the items of a list.
func itemsIn(data []byte) (int, error) {
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(data, &list); err != nil {
		return 0, fmt.Errorf("read a list: %w", err)
	}
	return len(list.Items), nil
}

// probed is how a probe was answered.
type probed struct {
	Name  string        `json:"name"`
	Want  int           `json:"want"`
	Codes map[int]int64 `json:"codes"`           // 0: no answer
	Items int64         `json:"items,omitempty"` // answers with another number of items than they must have
	There int           `json:"there,omitempty"` // of a masked label: how many the apiserver finds
	Error string        `json:"error,omitempty"` // the last
}

// answers are those to all probes, with what they said.
type answers struct {
	there int // Pods that the apiserver finds by their masked label

	mu    sync.Mutex
	order []string           // guarded by mu
	all   map[string]*probed // guarded by mu
	said  bytes.Buffer       // guarded by mu
}

// mostSaid bounds what is kept of the answers, in bytes.
const mostSaid = 64 << 20

func (a *answers) add(p *probe, code int, body []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]*probed{}
	}
	x := a.all[p.name]
	if x == nil {
		x = &probed{Name: p.name, Want: p.want, Codes: map[int]int64{}}
		a.all[p.name], a.order = x, append(a.order, p.name)
	}
	if p.items == 0 {
		x.There = a.there
	}
	if err != nil {
		x.Error = err.Error()
	}
	x.Codes[code]++
	if a.said.Len()+len(body) < mostSaid {
		fmt.Fprintf(&a.said, "%s: %d\n%s\n", p.name, code, body)
	}
	if code != http.StatusOK || p.items == anyItems {
		return
	}
	if n, err := itemsIn(body); err != nil || p.items == 0 && n > 0 || n < p.items {
		x.Items++
	}
}

func (a *answers) sum() (out []probed) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range a.order {
		out = append(out, *a.all[name])
	}
	return out
}

func (a *answers) text() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.said.Bytes())
}
