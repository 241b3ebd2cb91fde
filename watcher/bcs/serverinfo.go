package bcs

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
)

// ServerInfo is published by each instance.
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

const sequenceDigits = 10

// ordered gives the children that are sequential nodes, by their number; of equal
// numbers one is kept.
func ordered(children []string) []string {
	number := func(name string) string { return name[len(name)-sequenceDigits:] }
	nodes := slices.DeleteFunc(slices.Clone(children), func(name string) bool {
		if len(name) <= sequenceDigits {
			return true
		}
		_, err := strconv.ParseUint(number(name), 10, 64)
		return err != nil
	})
	slices.SortFunc(nodes, func(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) })
	return slices.CompactFunc(nodes, func(a, b string) bool { return number(a) == number(b) })
}
