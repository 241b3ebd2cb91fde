package shape

import (
	_ "embed"
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// draw draws what differs from one object to the next.
type draw struct{ *rand.Rand }

func newDraw(seed, stream uint64) draw { return draw{rand.New(rand.NewPCG(seed, stream))} }

// mix spreads a seed; it is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// wordsText has a list of words in each line, behind its name.
//
//go:embed words.txt
var wordsText string

var lists = func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(wordsText) {
		words := strings.Fields(line)
		all[words[0]] = words[1:]
	}
	return all
}()

var (
	nouns, roles, teams, words = lists["nouns"], lists["roles"], lists["teams"], lists["words"]

	sides, envs, registries, mounts = lists["sides"], lists["envs"], lists["registries"], lists["mounts"]
)

func pick(d draw, from []string) string { return from[d.IntN(len(from))] }

func (d draw) hex(n int) string {
	b := make([]byte, (n+1)/2)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return hex.EncodeToString(b)[:n]
}

// text is n bytes of settings as people write them: key, number, word.
func (d draw) text(n int) string {
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(n + 32)
	for b.Len() < n {
		b.WriteString(pick(d, nouns))
		b.WriteByte('.')
		b.WriteString(pick(d, words))
		b.WriteByte('=')
		switch d.IntN(4) {
		case 0:
			b.WriteString(d.hex(4 + d.IntN(16)))
		case 1:
			b.WriteString(pick(d, words))
		default:
			b.WriteString(pick(d, nouns) + "-" + pick(d, roles))
		}
		b.WriteByte(';')
	}
	return b.String()[:n]
}

// labelValue is the longest start of a name that a label may have.
func labelValue(name string) string {
	if len(name) > 63 {
		name = name[:63]
	}
	return strings.TrimRight(name, "-._")
}
