package badinput_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/badinput"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"dial tcp 10.0.0.1:80: refused": "dial tcp 10.0.0.1:80: refused",
		`c.json:7: bcs.zk: "u:pw@zk:2181" is no host`:      `c.json:7: bcs.zk: "…@zk:2181" is no host`,
		`"http://u:p w@h:1,http://h:2"`:                    `"http://…@h:1,http://h:2"`,
		"http://u:pw@h:1,https://u:p/w@h:2":                "http://…@h:2",
		"Get https://h/x?watch=true&resourceVersion=5: no": "Get https://h/x?watch=true&resourceVersion=5: no",
		"http://h?access_token=pw&a=b":                     "http://h?access_token=…&a=b",
		"apiserver at u:p@w@h says @ and more":             "apiserver at …@h says @ and more",
	} {
		if got := badinput.Redact(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if err := badinput.Redacted(io.EOF); !errors.Is(err, io.EOF) || err.Error() != "EOF" || badinput.Redacted(nil) != nil {
		t.Error(err)
	}
}

// FuzzText: what stands before the @ of an address is never said, what follows it is.
func FuzzText(f *testing.F) {
	f.Add("http://", "user", "pw")
	f.Add("", "", `a"b`)
	f.Fuzz(func(t *testing.T, scheme, user, password string) {
		if strings.ContainsAny(user+password+scheme, "\"'\n\\ \t…") || len(password) < 3 {
			return
		}
		secret := "<" + strings.ToUpper(strings.Trim(password, "@")) + ">"
		if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r == 0xfffd || r > 126 }) {
			return
		}
		if got := badinput.Redact("lead " + scheme + user + ":" + secret + "@host:1 tail"); strings.Contains(got, secret) || !strings.Contains(got, "@host:1 tail") {
			t.Errorf("%q", got)
		}
	})
}
