// Package assets carries the one third-party file that reports embed: Apache
// ECharts, which draws the charts of an HTML report.
//
// The script is not committed. fetch.sh (part of make build) puts it beside this
// file; echarts.lock.json pins its version and its digests. A program built without it works too: ECharts then says so,
// and a report asks the network for the script instead.
package assets

import (
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
)

// The pattern always matches: the lock and the notice are committed.
//
//go:embed echarts.*
var files embed.FS

const scriptFile = "echarts.min.js"

// Lock pins the script.
type Lock struct {
	Name          string `json:"name"`
	Version       string `json:"version"`
	Integrity     string `json:"integrity"` // of the package archive, in the form of npm's own lock files
	License       string `json:"license"`
	File          string `json:"file"`          // its path inside the archive
	FileIntegrity string `json:"fileIntegrity"` // of that file; also what a browser checks
}

// Pinned returns the committed lock.
func Pinned() Lock {
	var l Lock
	data, err := files.ReadFile("echarts.lock.json")
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		panic(fmt.Sprintf("assets: embedded echarts.lock.json: %v", err)) // a test reads it; cannot happen in a built program
	}
	return l
}

// Notice is the attribution that must accompany the script.
func Notice() string {
	data, err := files.ReadFile("echarts.NOTICE.txt")
	if err != nil {
		panic(fmt.Sprintf("assets: embedded notice: %v", err))
	}
	return string(data)
}

// ECharts returns the embedded script, or false when this program was built
// without it or with another file than the pinned one.
func ECharts() ([]byte, bool) { return load() }

var load = sync.OnceValues(func() ([]byte, bool) {
	data, err := files.ReadFile(scriptFile)
	if err != nil || integrity(data) != Pinned().FileIntegrity {
		return nil, false
	}
	return data, true
})

// integrity is the SHA-512 of data in the form that npm and browsers use.
func integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}
