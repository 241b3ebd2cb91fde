package discovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Paths of the modules the watcher looks for.
const (
	base           = "/bcs/services/endpoints/"
	PathStorage    = base + "storage"
	PathNetService = base + "netservice"
	PathHealth     = base + "health/master"
)

// ServerInfo is what an instance says of itself.
type ServerInfo struct {
	Scheme       string `json:"scheme"`
	IP           string `json:"ip"`
	Port         uint16 `json:"port"`
	ExternalIP   string `json:"external_ip"`
	ExternalPort uint16 `json:"external_port"`
}

// parse reads the data of a child; scheme, ip and port are required.
func parse(data []byte) (ServerInfo, error) {
	var s ServerInfo
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("server info: %w", err)
	}
	if s.Scheme != "http" && s.Scheme != "https" || s.IP == "" || s.Port == 0 {
		return s, errors.New("server info: scheme, ip or port is missing")
	}
	return s, nil
}

// Address is scheme://host:port, of the external side when asked and there is one.
func (s ServerInfo) Address(external bool) string {
	host, port := s.IP, s.Port
	if external && s.ExternalIP != "" && s.ExternalPort != 0 {
		host, port = s.ExternalIP, s.ExternalPort
	}
	return s.Scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// sequenceDigits is how many digits ZooKeeper appends to a sequential node.
const sequenceDigits = 10

// ordered gives the children that are sequential nodes, by their number; of equal
// numbers one is kept.
func ordered(children []string) []string {
	type child struct {
		name string
		seq  uint64
	}
	var cs []child
	for _, name := range children {
		if len(name) <= sequenceDigits {
			continue
		}
		seq, err := strconv.ParseUint(name[len(name)-sequenceDigits:], 10, 64)
		if err != nil {
			continue
		}
		cs = append(cs, child{name, seq})
	}
	slices.SortFunc(cs, func(a, b child) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.name, b.name)) })
	cs = slices.CompactFunc(cs, func(a, b child) bool { return a.seq == b.seq })
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = c.name
	}
	return names
}
