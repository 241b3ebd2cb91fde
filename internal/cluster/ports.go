package cluster

import (
	"os"
	"path/filepath"
	"regexp"
)

var portFlag = regexp.MustCompile(`^--(?:secure-port=|listen-(?:client|peer)-urls=http://[^,]*:)(\d+)$`)

// releasePorts gives up envtest's reservations of the ports that the parties of a
// run directory had. envtest keeps each as a file in the user's cache directory
// and removes it at some later start, when it is two minutes old.
func releasePorts(dir string) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return // then envtest has them in the temporary directory, and they stay
	}
	for _, party := range []string{etcdParty, apiserverParty} {
		for _, flag := range partyFlags(dir, party) {
			if m := portFlag.FindStringSubmatch(flag); m != nil {
				// Gone already, or not ours to remove: it expires by itself.
				_ = os.Remove(filepath.Join(cache, "kubebuilder-envtest", "port-"+m[1]))
			}
		}
	}
}
