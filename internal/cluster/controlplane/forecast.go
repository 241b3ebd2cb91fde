package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// forecast estimates how long builds still take, by this machine's pace so far. A package that go build -v reports as
// being compiled counts by the bytes of its source files.
type forecast struct {
	mu       sync.Mutex // guards all below
	tools    map[string]toolSources
	todo     map[string]float64 // by the folder of a package, or the name of a tool for its link
	packages int
	done     float64
	spent    time.Duration // on finished builds
	began    time.Time     // of the one that runs
}

type toolSources map[string]string // folder by import path

const (
	// packageBytes is the cost of starting a compiler, in bytes of source.
	packageBytes = 12 << 10
	// linkShare is the cost of linking as a share of compiling everything linked.
	linkShare = 0.04
	// slower is by how much what is left takes longer for its bytes than what is done: packages late in the graph
	// read more of others. Through a build of kube-apiserver on two cores it stayed between 1.75 and 2.
	slower = 1.9
	// listFormat has go list say what forecast.add reads.
	listFormat = `{{.Stale}}|{{.StaleReason}}|{{.ImportPath}}|{{.Dir}}|{{join .GoFiles ","}}`
	// cached is the reason of a stale program whose packages are all compiled.
	cached = "not installed but available in build cache"
)

// add reads what a tool consists of; packages of an earlier one are compiled once.
func (f *forecast) add(name, listed string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tools == nil {
		f.tools, f.todo = map[string]toolSources{}, map[string]float64{}
	}
	all, sources := 0.0, toolSources{}
	for line := range strings.Lines(listed) {
		field := strings.Split(strings.TrimSpace(line), "|")
		if len(field) != 5 {
			continue
		}
		dir, size := field[3], float64(packageBytes)
		for file := range strings.SplitSeq(field[4], ",") {
			if info, err := os.Stat(filepath.Join(dir, file)); err == nil && !info.IsDir() {
				size += float64(info.Size())
			}
		}
		all += size
		if _, known := f.todo[dir]; field[0] == "true" && field[1] != cached {
			sources[field[2]] = dir
			if !known {
				f.todo[dir] = size
				f.packages++
			}
		}
	}
	f.todo[name] = linkShare * all
	f.tools[name] = sources
}

// begin and finish are the ends of a tool's build.
func (f *forecast) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began = time.Now()
}

func (f *forecast) finish(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spent += time.Since(f.began)
	f.compiled(name)
	for _, dir := range f.tools[name] {
		f.compiled(dir)
	}
}

// compiled does nothing for what is done. The caller holds mu.
func (f *forecast) compiled(what string) {
	f.done += f.todo[what]
	delete(f.todo, what)
}

// left says how long it takes to build what is left.
func (f *forecast) left() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := f.done
	for _, size := range f.todo {
		total += slower * size
	}
	return left(f.spent+time.Since(f.began), f.done, total)
}

// left extrapolates.
func left(elapsed time.Duration, done, total float64) string {
	if done <= 0 || total < done {
		return "no estimate yet"
	}
	rest := time.Duration(float64(elapsed) * (total - done) / done)
	return fmt.Sprintf("about %s left", rest.Round(time.Second))
}

// fetched says how much of a download is there; a server need not say how long it is, which is -1.
func fetched(elapsed time.Duration, done, size float64) string {
	if size < 0 {
		return fmt.Sprintf("%.0f MB", done/1e6)
	}
	return fmt.Sprintf("%.0f of %.0f MB, %s", done/1e6, size/1e6, left(elapsed, done, size))
}

// compiler takes what go build -v says: it keeps all but the names of packages.
type compiler struct {
	forecast *forecast
	tool     string
	line     bytes.Buffer
	said     bytes.Buffer
}

func (c *compiler) Write(p []byte) (int, error) {
	c.line.Write(p)
	for {
		line, err := c.line.ReadString('\n')
		if err != nil {
			c.line.Reset()
			c.line.WriteString(line)
			return len(p), nil
		}
		c.take(line)
	}
}

func (c *compiler) take(line string) {
	c.forecast.mu.Lock()
	defer c.forecast.mu.Unlock()
	if dir, ok := c.forecast.tools[c.tool][strings.TrimSpace(line)]; ok {
		c.forecast.compiled(dir)
		return
	}
	c.said.WriteString(line)
}

// output returns the error output.
func (c *compiler) output() string { return c.said.String() + c.line.String() }
