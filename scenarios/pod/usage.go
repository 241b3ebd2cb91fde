package pod

// Usage is what a party has used so far, as its agent answers GET /usage. What cannot be read is -1.
type Usage struct {
	Time int64 // ns, the Pod's clock
	// The party's process, by internal/procstat. After its end CPU time and bytes are the last, memory is 0.
	CPUSeconds, RSSBytes, RSSHighestBytes, Read, Written float64
	// The container's cgroup.
	Throttled        int64 // periods
	ThrottledSeconds float64
	OOMKills         int64
	Received, Sent   float64 // bytes of the Pod's network without loopback
	// What the kubelet reads: the container's, with the agent.
	CgroupCPUSeconds, CgroupMemoryBytes float64
}
