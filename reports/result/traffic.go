package result

// Traffic is what a load with a profile made of watch events, beside what its plan has.
type Traffic struct {
	Profile string `json:"profile"`
	// PodLives is half of the Pods created and deleted together: a life that only began or
	// ended in the load is half of one.
	PodLives float64                `json:"podLives"`
	Kinds    map[string]KindTraffic `json:"kinds"`
}

// KindTraffic is that of one kind.
type KindTraffic struct {
	// Added, Modified and Deleted are the writes that the apiserver acknowledged, each of
	// which is one watch event. Heartbeats and the bystander are not among them.
	Added    int64 `json:"added"`
	Modified int64 `json:"modified"`
	Deleted  int64 `json:"deleted"`
	// Expected is how many the plan has for the time that the load lasted or, of a closed load,
	// among as many operations; nil for kinds that are not in it.
	Expected *float64 `json:"expected,omitempty"`
	// PerPod is per life; nil for kinds that are written by the clock.
	PerPod *float64 `json:"perPod,omitempty"`
	// Puts are the requests with an object that storage acknowledged, and Bytes their mean body.
	Puts          int64    `json:"puts"`
	Bytes         *float64 `json:"bytes,omitempty"`
	ExpectedBytes *float64 `json:"expectedBytes,omitempty"`
}

// Events is how many there were.
func (k KindTraffic) Events() int64 { return k.Added + k.Modified + k.Deleted }
