package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

const (
	// flushEvery bounds what is lost if the program is killed.
	flushEvery = time.Second
	// reportEvery is how often progress is reported.
	reportEvery = 10 * time.Second
)

// Settings says what to record.
type Settings struct {
	REST           *rest.Config
	Resources      []Resource // see Resolve
	ClusterVersion string
	// Anonymise replaces names and values; see the package.
	Anonymise bool
	// Progress receives one line at a time, from any goroutine; it may be nil.
	Progress func(line string)
}

// Recorder records one cluster, once.
type Recorder struct {
	settings Settings
	header   Header
	salt     []byte
	streams  []*stream
	ran      atomic.Bool
}

// New makes a recorder; nothing is requested yet.
func New(s Settings) (*Recorder, error) {
	if len(s.Resources) == 0 {
		return nil, errors.New("no resource to record")
	}
	client, err := newClient(s.REST)
	if err != nil {
		return nil, err
	}
	if i := strings.IndexAny(s.ClusterVersion, "-+"); i >= 0 && s.Anonymise { // who built it
		s.ClusterVersion = s.ClusterVersion[:i]
	}
	r := &Recorder{settings: s, salt: newSalt(), header: Header{
		Started: time.Now(), ClusterVersion: s.ClusterVersion, Anonymised: s.Anonymise,
	}}
	for i, resource := range s.Resources {
		masker := newMasker(r.salt, s.Anonymise)
		r.streams = append(r.streams, &stream{
			client: client, masker: masker, resource: resource, index: i, objects: map[string]live{}, now: r.now, say: r.say,
		})
		for _, name := range []*string{&resource.Group, &resource.Version, &resource.Name, &resource.Kind} {
			*name = masker.name(*name)
		}
		r.header.Resources = append(r.header.Resources, resource)
	}
	return r, nil
}

// Header returns the header for the trace that Run writes.
func (r *Recorder) Header() Header { return r.header }

func (r *Recorder) now() time.Duration { return time.Since(r.header.Started) }

func (r *Recorder) say(format string, args ...any) {
	if r.settings.Progress != nil {
		r.settings.Progress(fmt.Sprintf("%s: ", r.now().Round(time.Second)) + fmt.Sprintf(format, args...))
	}
}

// Run records into w until ctx ends, which returns nil, or something fails for good: the trace cannot be written, or a
// resource may not be listed. It does not close w.
func (r *Recorder) Run(ctx context.Context, w *Writer) error {
	if r.ran.Swap(true) {
		return errors.New("a recorder runs once")
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, s := range r.streams {
		s.out = w.Append
		all.Go(func() error { return s.run(ctx) })
	}
	all.Go(func() error { return r.flush(ctx, w) })
	err := all.Wait()
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	return err
}

// flush writes what is collected to the file every second, and reports.
func (r *Recorder) flush(ctx context.Context, w *Writer) error {
	reported := time.Now()
	for lifecycle.Pause(ctx, flushEvery) == nil {
		if err := w.Flush(); err != nil {
			return err
		}
		if time.Since(reported) >= reportEvery {
			reported = time.Now()
			bytes, frames := w.Written()
			r.say("%d frames, %d KiB; %s", frames, bytes>>10, r.Summary())
		}
	}
	return nil
}

// Summary says what was recorded of each resource.
func (r *Recorder) Summary() string {
	var parts []string
	for _, p := range r.Progress() {
		part := fmt.Sprintf("%s %d listed, %d events", p.Resource.Name, p.Listed, p.Events)
		if p.Gaps > 0 {
			part += fmt.Sprintf(", %d gaps", p.Gaps)
		}
		if p.Version == "" {
			part += ", list not complete"
		}
		if p.Down {
			part += ", not followed at the end"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Incomplete returns an error that names the resources whose first list is not complete: what the watch of such a
// resource would have shown is not in the trace.
func (r *Recorder) Incomplete() error {
	var names []string
	for _, p := range r.Progress() {
		if p.Version == "" {
			names = append(names, p.Resource.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("the first list of %s is not complete: the trace cannot be replayed", strings.Join(names, ", "))
}

// Progress is how far a resource has come.
type Progress struct {
	Resource             Resource
	Listed, Events, Gaps int64
	Live                 int64  // objects that are there
	Version              string // of the last event; "" before the first list is complete
	Down                 bool   // the last request failed: what happens is not recorded until one succeeds
}

// Progress returns that of each resource, in the order of the settings.
func (r *Recorder) Progress() (all []Progress) {
	for _, s := range r.streams {
		p := Progress{Resource: s.resource, Listed: s.counts.listed.Load(), Events: s.counts.events.Load(),
			Gaps: s.counts.gaps.Load(), Live: s.counts.live.Load(), Down: s.counts.down.Load()}
		if v := s.counts.version.Load(); v != nil {
			p.Version = *v
		}
		all = append(all, p)
	}
	return all
}
