package apisim

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/loadgen/watchfault"
)

// ErrUnknownResource is returned for a resource that is not served.
var ErrUnknownResource = errors.New("no such resource")

// ErrNotFound is returned for an object that is not there.
var ErrNotFound = errors.New("no such object")

// Server serves lists and watches of a state in memory. Its methods may be called from any goroutine.
type Server struct {
	config Config
	faults *watchfault.Injector
	entry  http.Handler // the faults before serve

	mu      sync.Mutex
	rv      uint64           // guarded by mu: of the latest change
	kinds   map[string]*kind // guarded by mu, with all that they hold; by Resource.Key
	changed chan struct{}    // guarded by mu; closed at the next change if awaited
	awaited bool             // guarded by mu
	uids    uint64           // guarded by mu; the number of uids given out
	counts  map[asked]int    // guarded by mu; requests
	open    int              // guarded by mu; watches that are open
	saved   *saved           // guarded by mu; nil before Save
}

// asked is a kind of requests; without resource of all of them.
type asked struct{ verb, resource string }

var _ http.Handler = (*Server)(nil)

// New makes a server without objects.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("apisim: %w", err)
	}
	c = c.withDefaults()
	srv := &Server{
		config: c, faults: watchfault.NewInjector(c.Seed),
		rv: firstVersion, kinds: map[string]*kind{}, changed: make(chan struct{}), counts: map[asked]int{},
	}
	srv.entry = srv.faults.Wrap(http.HandlerFunc(srv.serve))
	for _, r := range c.Resources {
		srv.kinds[r.Key()] = newKind(r, c.Window, srv.rv)
	}
	return srv, nil
}

// Faults is the injector in front of the server.
func (s *Server) Faults() *watchfault.Injector { return s.faults }

// ServeHTTP answers a request, unless a fault does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.entry.ServeHTTP(w, r) }

// Refusing reports whether connections would be refused now.
func (s *Server) Refusing() bool { return s.faults.Refusing() }

// notify wakes what waits for a change of the kind, or for a version. The caller holds mu.
func (s *Server) notify(k *kind) {
	k.notify()
	if s.awaited {
		close(s.changed)
		s.changed, s.awaited = make(chan struct{}), false
	}
}

// notifyAll is notify for all kinds. The caller holds mu.
func (s *Server) notifyAll() {
	for _, k := range s.kinds {
		s.notify(k)
	}
}

// Object is one object as it is stored, or was.
type Object struct {
	Namespace, Name, UID string
	ResourceVersion      uint64 // of the change, also where that is a deletion
	Before               uint64 // of the state before a change, 0 if there was none
	version              *version
	typed                string
}

// JSON is the object with apiVersion and kind, as a GET gives it; of a deletion the last state, and nil of the zero
// Object.
func (o Object) JSON() []byte {
	if o.version == nil {
		return nil
	}
	return o.version.appendJSON(nil, o.typed, o.version.rv)
}

func (s *Server) object(k *kind, v *version, rv, before uint64) Object {
	return Object{v.Namespace, v.Name, v.uid, rv, before, v, typed(k.groupVersion(k.Versions[0]), k.Kind)}
}

// Apply creates or replaces an object, given as JSON with metadata.name, and metadata.namespace where the kind has one.
// The version is always the server's; uid and creationTimestamp are kept if given and else those of the object that is
// there, or new. Another uid than the stored one's means that the object was deleted and made again, in two changes.
func (s *Server) Apply(resource string, object []byte) (Object, error) {
	return s.apply(resource, object, func(*draft, *version) error { return nil })
}

// apply is Apply if may allows it, which sees the object, and the one that is there or nil. Its error is returned.
func (s *Server) apply(resource string, object []byte, may func(*draft, *version) error) (Object, error) {
	s.mu.Lock()
	k, err := s.kind(resource)
	s.mu.Unlock()
	if err != nil {
		return Object{}, fmt.Errorf("apply: %w", err)
	}
	d, err := parseObject(object, k.fields)
	if err != nil {
		return Object{}, fmt.Errorf("apply to %s: %w", resource, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, err = s.kind(resource); err != nil {
		return Object{}, fmt.Errorf("apply: %w", err)
	}
	if k.Namespaced != (d.Namespace != "") {
		return Object{}, fmt.Errorf("apply to %s: %w: metadata.namespace %q: the kind is namespaced: %t", resource,
			errObject, d.Namespace, k.Namespaced)
	}
	prev := find(k.objects, d.key)
	if err := may(d, prev); err != nil {
		return Object{}, err
	}
	if prev != nil && d.uid != "" && d.uid != prev.uid {
		s.rv++
		k.record(event{rv: s.rv, prev: prev})
		prev = nil
	}
	d.identify(prev, s.newUID)
	s.rv++
	v := d.render(s.rv, &k.packer)
	k.record(event{rv: s.rv, prev: prev, cur: v})
	s.notify(k)
	before := uint64(0)
	if prev != nil {
		before = prev.rv
	}
	return s.object(k, v, v.rv, before), nil
}

// identify gives an object the identity of the one that is there, or a new one, where it says none of its own.
func (d *draft) identify(prev *version, newUID func() string) {
	if d.uid == "" {
		if prev != nil {
			d.uid = prev.uid
		} else {
			d.uid = newUID()
		}
	}
	if d.created == "" || d.created == "null" {
		if prev != nil {
			d.created = prev.created
		} else {
			d.created = `"` + time.Now().UTC().Format(time.RFC3339) + `"`
		}
	}
}

// newUID gives the same uids for the same seed. The caller holds mu.
func (s *Server) newUID() string {
	s.uids++
	return UID(s.config.Seed, s.uids)
}

// UID is the n-th uid of a seed. Its digits vary as if it were drawn: shards are ranges of hashes, to which similar
// texts are close.
func UID(seed, n uint64) string {
	random := rand.NewPCG(seed, n)
	a, b := random.Uint64(), random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0xfff, b&0xffff_ffff_ffff)
}

func (s *Server) kind(resource string) (*kind, error) {
	k := s.kinds[resource]
	if k == nil {
		return nil, fmt.Errorf("resource %q: %w; name it like pods or deployments.apps", resource, ErrUnknownResource)
	}
	return k, nil
}

// Delete deletes an object.
func (s *Server) Delete(resource, namespace, name string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.kind(resource)
	if err != nil {
		return Object{}, fmt.Errorf("delete: %w", err)
	}
	prev := find(k.objects, key{Namespace: namespace, Name: name})
	if prev == nil {
		return Object{}, fmt.Errorf("delete %s %s: %w", resource, key{Namespace: namespace, Name: name}, ErrNotFound)
	}
	s.rv++
	k.record(event{rv: s.rv, prev: prev})
	s.notify(k)
	return s.object(k, prev, s.rv, prev.rv), nil
}

// Objects returns all objects of a resource in order, none for one that is not served.
func (s *Server) Objects(resource string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[resource]
	if k == nil {
		return nil
	}
	all := make([]Object, 0, k.objects.Len())
	k.objects.Ascend(func(v *version) bool {
		all = append(all, s.object(k, v, v.rv, 0))
		return true
	})
	return all
}

// Version returns the version of the latest change.
func (s *Server) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rv
}

// Compact forgets all changes up to now, as if elsewhere so much was written that the windows are past: every version
// that was shown so far is too old to resume from. Watches that have seen all of it go on.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	for _, k := range s.kinds {
		k.trim(len(k.events))
		k.floor = s.rv
		k.paged = nil
	}
	s.notifyAll()
}

// CloseWatches ends all open watches of a resource normally, all watches if it is empty.
func (s *Server) CloseWatches(resource string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.kind(resource); err != nil && resource != "" {
		return fmt.Errorf("close watches: %w", err)
	}
	for name, k := range s.kinds {
		if resource == "" || name == resource {
			k.cut++
		}
	}
	s.notifyAll()
	return nil
}

// SetResource serves one more resource, or an existing one under other versions. Watches on a version that is no longer
// served end.
func (s *Server) SetResource(r Resource) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("apisim: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kinds[r.Key()]
	if k == nil {
		s.kinds[r.Key()] = newKind(r, s.config.Window, s.rv)
		return nil
	}
	if k.Namespaced != r.Namespaced {
		return fmt.Errorf("apisim: resource %s: its scope cannot change", r.Key())
	}
	k.Resource = r
	s.notify(k)
	return nil
}

// RemoveResource deletes the objects of a resource, one by one, and serves it no more.
func (s *Server) RemoveResource(resource string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, err := s.kind(resource)
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	k.objects.Clone().Ascend(func(v *version) bool {
		s.rv++
		k.record(event{rv: s.rv, prev: v})
		return true
	})
	k.gone = true
	delete(s.kinds, resource)
	s.notify(k)
	return nil
}

// Observer is the User-Agent of a bystander: its requests are answered and not counted.
const Observer = "watchbench-observer"

// PathStats is where Stats are served, as JSON and not as by a real API server.
const PathStats = "/watchbench/stats"

// Stats counts the requests that reached the server past the faults.
type Stats struct {
	Lists   int `json:"lists"` // first pages and whole lists
	Pages   int `json:"pages"` // lists with a continue token
	Watches int `json:"watches"`
	Streams int `json:"streams"` // watches that began as streaming lists
	Open    int `json:"open"`    // watches open now, of all resources
}

// Stats counts the requests for a resource, for all of them if it is empty.
func (s *Server) Stats(resource string) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := func(verb string) int { return s.counts[asked{verb, resource}] }
	return Stats{of("list"), of("page"), of("watch"), of("stream"), s.open}
}

func (s *Server) count(r *http.Request, verb, resource string) {
	if r.UserAgent() == Observer {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[asked{verb, ""}]++
	s.counts[asked{verb, resource}]++
}

// resources returns what is served, sorted by group and name. The caller holds mu.
func (s *Server) resources() []Resource {
	var all []Resource
	for _, k := range s.kinds {
		all = append(all, k.Resource)
	}
	slices.SortFunc(all, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	return all
}
