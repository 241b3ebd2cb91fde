package history

// Names of the parties of a cell.
const (
	PartyGenerator = "generator"
	PartyAPIServer = "apiserver"
	PartyEtcd      = "etcd"
	PartyWatcher   = "watcher"
	PartyStorage   = "storagemock"
	PartyRunner    = "runner"
	PartyProxy     = "watchproxy" // where the watch has faults

	// In cells with readers.
	PartyReaders = "readers"

	// Where cluster.controllers is set.
	PartyControllerManager = "controller-manager"
	PartyScheduler         = "scheduler"
	PartyKwok              = "kwok"
	PartyWitness           = "witness"
)

// Use is a process's resource use from its start until a sample.
type Use struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	RSSBytes   float64 `json:"rssBytes"`
	// RSSHighestBytes is the most it ever had resident; 0 unknown. Of several watchers, one after the other, it is that of
	// the largest, as of its last reading.
	RSSHighestBytes float64 `json:"rssHighestBytes,omitempty"`

	Read    float64 `json:"read"` // bytes; -1 unknown
	Written float64 `json:"written"`
}

// After adds what a former process of the same party had used.
func (u Use) After(former Use) Use {
	u.CPUSeconds += former.CPUSeconds
	u.RSSHighestBytes = max(u.RSSHighestBytes, former.RSSHighestBytes)
	u.Read += former.Read
	u.Written += former.Written
	return u
}

// CPU is the machine's CPU time since boot, all CPUs together, in seconds. Busy has no stolen time in it.
type CPU struct {
	Busy  float64 `json:"busy"`
	Steal float64 `json:"steal"` // the hypervisor gave it to others
	Total float64 `json:"total"`
}

// Sample is one reading of everything that can be read while a cell runs, one line of samples.ndjson. A nil figure
// could not be read, or was not asked for: reading the watcher's metrics costs it CPU.
type Sample struct {
	Time    int64          `json:"time"`            // Unix nanoseconds
	Until   int64          `json:"until,omitempty"` // when the reading was complete
	CPU     *CPU           `json:"cpu,omitempty"`
	Parties map[string]Use `json:"parties,omitempty"`
	// Asked is how many requests this and other readings had made to the watchers by then.
	Asked *float64 `json:"asked,omitempty"`

	QueueDepth      *float64 `json:"queueDepth,omitempty"` // Pod events accepted and not settled
	WriterDepth     *float64 `json:"writerDepth,omitempty"`
	HandlerDepth    *float64 `json:"handlerDepth,omitempty"`
	StorageInFlight *float64 `json:"storageInFlight,omitempty"`
	Goroutines      *float64 `json:"goroutines,omitempty"`
	Sockets         *float64 `json:"sockets,omitempty"`
}

// Memory is the watcher's resident memory in bytes, nil where it was not read.
func (s *Sample) Memory() *float64 {
	if u, ok := s.Parties[PartyWatcher]; ok {
		return &u.RSSBytes
	}
	return nil
}
