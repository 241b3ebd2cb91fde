// Package procstat reads what a process and the machine have used, from /proc.
// Where /proc is absent every reading is an error: unknown is not 0.
package procstat

import (
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is the resource usage of one process so far.
type Usage struct {
	// CPU is user and system time of all threads, to the nanosecond as long as none has
	// ended; of ended threads it is known in steps of the kernel's clock tick, 10 ms.
	CPU time.Duration
	RSS int64 // resident bytes
	// RSSHighest is the most it ever had resident, in bytes; 0 where the kernel does
	// not report it.
	RSSHighest int64
	// Read and Written count the bytes of its read and write calls. Go programs
	// use these calls on sockets, so for a process that touches few files this is
	// its network traffic. Both are -1 where the kernel hides them (another
	// user's process).
	Read, Written int64
	Threads       int
}

// Process reads one process over and over. It notices when the process is gone
// and its id was given to another.
type Process struct {
	pid   int
	start uint64
	proc  procfs.Proc
}

// Open finds a running process.
func Open(pid int) (*Process, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return nil, fmt.Errorf("find process %d: %w", pid, err)
	}
	st, err := proc.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the state of process %d: %w", pid, err)
	}
	return &Process{pid: pid, start: st.Starttime, proc: proc}, nil
}

// threads sums the run time of the process's present threads, -1 where the kernel does not report it:
// /proc/PID/schedstat covers the first thread only.
func (p *Process) threads() time.Duration {
	ran := time.Duration(-1)
	all, _ := procfs.AllThreads(p.pid)
	for _, t := range all {
		if s, err := t.Schedstat(); err == nil { // a thread may have ended
			ran = max(0, ran) + time.Duration(s.RunningNanoseconds)
		}
	}
	return ran
}

// Usage reads the counters.
func (p *Process) Usage() (Usage, error) {
	st, err := p.proc.Stat()
	if err != nil {
		return Usage{}, fmt.Errorf("read the state of process %d: %w", p.pid, err)
	}
	if st.Starttime != p.start {
		return Usage{}, fmt.Errorf("read the state of process %d: it ended and its id was given away", p.pid)
	}
	u := Usage{
		CPU:     max(p.threads(), time.Duration(st.CPUTime()*float64(time.Second)).Round(time.Millisecond)),
		RSS:     int64(st.ResidentMemory()),
		Read:    -1,
		Written: -1,
		Threads: st.NumThreads,
	}
	if status, err := p.proc.NewStatus(); err == nil {
		u.RSSHighest = int64(status.VmHWM)
	}
	if io, err := p.proc.IO(); err == nil {
		u.Read, u.Written = int64(io.RChar), int64(io.WChar)
	}
	return u, nil
}
