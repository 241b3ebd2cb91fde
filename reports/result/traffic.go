package result

// Traffic counts the watch events of a load with a profile.
type Traffic struct {
	Kinds map[string]KindTraffic `json:"kinds"`
}

// KindTraffic counts a load's writes of one kind that the apiserver acknowledged, each of which is one watch event.
// Heartbeats and the bystander are not among them.
type KindTraffic struct {
	Added    int64 `json:"added"`
	Modified int64 `json:"modified"`
	Deleted  int64 `json:"deleted"`
}

// Events is how many there were.
func (k KindTraffic) Events() int64 { return k.Added + k.Modified + k.Deleted }
