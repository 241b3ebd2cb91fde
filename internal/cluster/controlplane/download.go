package controlplane

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// EnvIndex names the environment variable with the URL of another index of envtest's archives, or NoDownload.
const (
	EnvIndex   = "ENVTEST_INDEX_URL"
	NoDownload = "off"
)

const (
	// connectLimit bounds the wait for the index, silenceLimit that for the archive's next byte.
	connectLimit = 5 * time.Second
	silenceLimit = 15 * time.Second
	// indexLimit and binaryLimit bound the size of an answer: five times today's.
	indexLimit, binaryLimit = 8 << 20, 1 << 30
)

// shipped are the binaries of an archive.
func shipped() []string { return []string{Etcd, APIServer, Kubectl} }

// index is the list of envtest's releases: version, name of the archive, archive.
type index struct {
	Releases map[string]map[string]archive `json:"releases"`
}

type archive struct {
	version string
	Hash    string `json:"hash"` // SHA-512, in hexadecimal digits
	URL     string `json:"selfLink"`
}

// newest returns the pinned release for this machine, or else the newest one of its minor version.
func (x index) newest() (best archive, err error) {
	pin := version.MustParseSemantic(KubernetesVersion())
	var newest *version.Version
	for name, archives := range x.Releases {
		v, err := version.ParseSemantic(name)
		a, there := archives[fmt.Sprintf("envtest-%s-%s-%s.tar.gz", name, runtime.GOOS, runtime.GOARCH)]
		if err != nil || !there || v.PreRelease() != "" || v.Major() != pin.Major() || v.Minor() != pin.Minor() {
			continue
		}
		if newest == nil || !newest.EqualTo(pin) && (v.EqualTo(pin) || v.GreaterThan(newest)) {
			newest, best = v, a
			best.version = name
		}
	}
	if newest == nil {
		return best, fmt.Errorf("it lists no Kubernetes %d.%d for %s/%s", pin.Major(), pin.Minor(), runtime.GOOS,
			runtime.GOARCH)
	}
	return best, nil
}

// downloadStamp begins the stamp of a downloaded binary, which stands as long as the pinned version of Kubernetes does:
// that is part of the cache's path.
const downloadStamp = "envtest "

// download puts envtest's binaries that dir lacks there. The lock must be held.
func download(ctx context.Context, opts Options, dir string) error {
	from := cmp.Or(os.Getenv(EnvIndex), envtest.DefaultBinaryAssetsIndexURL)
	if from == NoDownload {
		return fmt.Errorf("%s is %s", EnvIndex, NoDownload)
	}
	a, err := opts.find(ctx, from)
	if err != nil {
		return fmt.Errorf("index %s: %w", from, err)
	}
	work, err := os.MkdirTemp(dir, workPrefix+"download-")
	if err != nil {
		return fmt.Errorf("create a directory for the download: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	opts.say("downloading etcd and kube-apiserver %s from %s", a.version, a.URL)
	started := time.Now()
	if err := opts.fetch(ctx, a, work); err != nil {
		return fmt.Errorf("archive %s: %w", a.URL, err)
	}
	for _, name := range shipped() {
		if len(missing(dir, []tool{mustFind(name)})) == 0 {
			continue
		}
		stamp := fmt.Sprintf("%s%s sha512:%s\n", downloadStamp, a.version, a.Hash)
		if err := install(dir, work, name, stamp); err != nil {
			return err
		}
	}
	opts.say("downloaded etcd and kube-apiserver %s in %s", a.version, time.Since(started).Round(100*time.Millisecond))
	return nil
}

func (o Options) find(ctx context.Context, from string) (a archive, err error) {
	body, _, err := o.get(ctx, from, connectLimit)
	if err != nil {
		return a, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, indexLimit))
	if err != nil {
		return a, err
	}
	var x index
	if err := yaml.Unmarshal(data, &x); err != nil {
		return a, fmt.Errorf("not an index of envtest: %w", err)
	}
	return x.newest()
}

func (o Options) fetch(ctx context.Context, a archive, work string) error {
	body, size, err := o.get(ctx, a.URL, silenceLimit)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	file, err := os.Create(filepath.Join(work, "archive"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var got atomic.Int64
	hash := sha512.New()
	err = withProgress(func() error {
		_, err := io.Copy(io.MultiWriter(file, hash, counter{&got}), body)
		return err
	}, func(elapsed time.Duration) {
		o.say("downloading: %s", fetched(elapsed, float64(got.Load()), float64(size)))
	})
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != a.Hash {
		return fmt.Errorf("its SHA-512 is %.12s…, the index says %.12s…", sum, a.Hash)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return unpack(file, work)
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

// unpack writes the binaries of an archive into dir, whatever their folder is called.
func unpack(packed io.Reader, dir string) error {
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	want := shipped()
	for files := tar.NewReader(plain); len(want) > 0; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it has no %s", want[0])
		}
		if err != nil {
			return err
		}
		i := slices.Index(want, path.Base(header.Name))
		if i < 0 || header.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeBinary(filepath.Join(dir, want[i]), io.LimitReader(files, binaryLimit)); err != nil {
			return err
		}
		want = slices.Delete(want, i, i+1)
	}
	return nil
}

func writeBinary(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// get returns the body of an answer, which ends with an error when nothing comes for as long as limit.
func (o Options) get(ctx context.Context, from string, limit time.Duration) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	body := &impatient{limit: limit, cancel: cancel, ctx: ctx}
	body.timer = time.AfterFunc(limit, func() { cancel(fmt.Errorf("nothing came for %s", limit)) })
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, 0, errors.Join(err, body.Close())
	}
	req.Close = true                                            // no connection stays
	resp, err := (&http.Client{Transport: o.transport}).Do(req) //nolint:bodyclose // impatient closes it
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // which the caller's error names
		}
		err = cmp.Or(context.Cause(ctx), err)
		return nil, 0, errors.Join(err, body.Close())
	}
	body.ReadCloser = resp.Body
	if resp.StatusCode != http.StatusOK {
		return nil, 0, errors.Join(errors.New(resp.Status), body.Close())
	}
	return body, resp.ContentLength, nil
}

// impatient is the body of an answer whose request ends when it is silent.
type impatient struct {
	io.ReadCloser
	limit  time.Duration
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func (b *impatient) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.limit)
	}
	if err != nil && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return n, err
}

func (b *impatient) Close() (err error) {
	b.timer.Stop()
	if b.ReadCloser != nil {
		err = b.ReadCloser.Close()
	}
	b.cancel(nil)
	return err
}
