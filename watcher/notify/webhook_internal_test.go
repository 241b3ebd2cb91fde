package notify

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://h":                     "",
		"https://h:8443/a?b=c":         "",
		"http://[::1]/":                "", // the dial decides
		"http://h:10250/":              "port 10250",
		"https://h:2379/":              "port 2379",
		"http://h:0/":                  "is none",
		"http://h:99999/":              "is none",
		"http://h:/":                   "empty port",
		"http://[::1]:/":               "empty port",
		"":                             "invalid URL",
		"h/path":                       "invalid URL",
		"file:///etc/passwd":           "invalid URL",
		"gopher://h/":                  "invalid URL",
		"unix:///run/x":                "invalid URL",
		"HTTP://h/":                    "",
		"http:///path":                 "invalid URL",
		"http:h":                       "invalid URL",
		"http://:80/":                  "invalid URL",
		"http://user@h/":               "a user",
		"http://user:secret@h/":        "a user",
		"http://good.example@h/":       "a user",
		"http://h/#f":                  "a fragment",
		"http://h/%zz":                 "invalid URL",
		"http://h\x00/":                "invalid URL",
		"http://h:secretport/?a=token": "invalid URL",
	} {
		err := checkURL(text)
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "token")):
			t.Errorf("%q: the error says it: %v", text, err)
		}
	}
}

// FuzzURL: what is taken is http or https with a host, and names nobody.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"http://h", "https://u:p@h:1/#f", "file:///x", "http://[::1%25eth0]:80/", "//h", "http://h:10250"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if checkURL(text) != nil {
			return
		}
		req, err := http.NewRequest(http.MethodPost, text, nil)
		if err != nil {
			t.Fatalf("%q was taken, and is no request: %v", text, err)
		}
		if req.URL.Hostname() == "" || req.URL.User != nil || req.URL.Fragment != "" || req.URL.Port() == "10250" ||
			req.URL.Scheme != "http" && req.URL.Scheme != "https" {
			t.Errorf("%q was taken: %#v", text, req.URL)
		}
	})
}

var (
	keyA = bytes.Repeat([]byte{1}, 24)
	keyB = bytes.Repeat([]byte{2}, 64)
)

func secret(key []byte) string { return secretPrefix + base64.StdEncoding.EncodeToString(key) }

func TestSecrets(t *testing.T) {
	for text, want := range map[string]int{
		secret(keyA):                              1,
		"\n " + secret(keyA) + "\r\n\n":           1,
		secret(keyA) + "\n" + secret(keyB) + "\n": 2,
		strings.Repeat(secret(keyA)+"\n", 5):      0,
		"":                                        0,
		"whsec_":                                  0,
		base64.StdEncoding.EncodeToString(keyA):   0,
		secretPrefix + "geheim!":                  0,
		secret(keyA[:23]):                         0,
		secret(append(bytes.Clone(keyB), 3)):      0,
		secret(keyA) + " " + secret(keyB):         0,
		"WHSEC_" + base64.StdEncoding.EncodeToString(keyA): 0,
	} {
		keys, err := parseSecrets(text)
		if len(keys) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d keys, %v; want %d", text, len(keys), err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
}

// TestSecretsFile: one that cannot be of secrets is not read as a whole.
func TestSecretsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets")
	for size, want := range map[int]bool{0: true, 4 << 10: false} {
		if err := os.WriteFile(file, append(bytes.Repeat([]byte("\n"), size), secret(keyA)...), 0o600); err != nil {
			t.Fatal(err)
		}
		if keys, err := readSecrets(file); (err == nil) != want {
			t.Errorf("%d more bytes: %d keys, %v", size, len(keys), err)
		}
	}
}

// FuzzSecrets: keys have the lengths that the specification allows, and their text is not in
// errors.
func FuzzSecrets(f *testing.F) {
	f.Add(secret(keyA))
	f.Add("whsec_x\nwhsec_")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parseSecrets(text)
		if err != nil {
			return
		}
		if len(keys) == 0 || len(keys) > maxSecrets {
			t.Errorf("%d keys", len(keys))
		}
		for _, k := range keys {
			if len(k) < minSecret || len(k) > maxSecret || !strings.Contains(text, secretPrefix) {
				t.Errorf("%q: a key of %d bytes", text, len(k))
			}
		}
	})
}

// TestSign uses the example of the specification (standard-webhooks.com).
func TestSign(t *testing.T) {
	keys, err := parseSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got := sign(keys, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	if got := sign([][]byte{keys[0], keyA}, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)); !strings.HasPrefix(got, want+" v1,") {
		t.Errorf("two signatures: %s", got)
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"":                               -1,
		"0":                              0,
		"7":                              7 * time.Second,
		"900":                            15 * time.Minute,
		"901":                            15 * time.Minute,
		"18446744073709551615":           15 * time.Minute,
		"99999999999999999999999999999":  15 * time.Minute,
		"-1":                             -1,
		"+1":                             -1,
		"1.5":                            -1,
		" 1":                             -1,
		"soon":                           -1,
		"Sun, 01 Mar 2026 12:00:30 GMT":  30 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT":  0,
		"Sun, 01 Mar 2099 12:00:00 GMT":  15 * time.Minute,
		"Sunday, 01-Mar-26 12:01:00 GMT": time.Minute,
		"Sun Mar  1 12:00:01 2026":       time.Second,
	} {
		got, ok := parseRetryAfter(text, now)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %s, %t; want %s", text, got, ok, want)
		}
	}
}

// FuzzRetryAfter: whatever the header says, the pause is within bounds.
func FuzzRetryAfter(f *testing.F) {
	f.Add("1")
	f.Add("Sun, 01 Mar 2026 12:00:30 GMT")
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := parseRetryAfter(text, time.Unix(1e9, 0)); d < 0 || d > maxRetryAfter || !ok && d != 0 {
			t.Errorf("%q: %s, %t", text, d, ok)
		}
	})
}
