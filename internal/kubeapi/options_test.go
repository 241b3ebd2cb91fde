package kubeapi

import (
	"testing"
	"time"
)

// TestBookmarksAreRegular, once a minute at least.
func TestBookmarksAreRegular(t *testing.T) {
	now := time.Now()
	for left, want := range map[time.Duration]time.Duration{
		time.Hour: 50 * time.Second, time.Minute: 50 * time.Second, 51 * time.Second: 49 * time.Second,
		3 * time.Second: time.Second, time.Second: time.Second,
	} {
		if got := NextBookmark(now, now.Add(left), 50*time.Second).Sub(now); got != want {
			t.Errorf("%s before the end: in %s, want %s", left, got, want)
		}
	}
}

// FuzzTokens: what parses is what would be written, to the byte.
func FuzzTokens(f *testing.F) {
	f.Add("eyJydiI6MTAwLCJuYW1lIjoiYSIsImxlZnQiOjB9")
	f.Add(Token{100, "a", "b", 3}.String())
	f.Add(Token{-1, "", "b", -1}.String())
	f.Fuzz(func(t *testing.T, text string) {
		token, err := parseToken(text, "")
		if err != nil {
			return
		}
		if again, err := parseToken(token.String(), ""); err != nil || again != token {
			t.Fatalf("%q is written as %q: %v", text, token, err)
		}
	})
}
