package result

import "regexp"

// drawn are parts of flags that the embedded control plane draws anew each time it starts: its folder and its ports.
var drawn = []struct {
	is  *regexp.Regexp
	say string
}{
	{regexp.MustCompile(`/[^=\s]*/watchbench-cluster-\d+/`), "FOLDER/"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`^--secure-port=\d+$`), "--secure-port=PORT"},
}

// FixedFlags are flags of a control plane, for comparison, without what differs each time it starts.
func FixedFlags(flags []string) []string {
	var fixed []string
	for _, f := range flags {
		for _, d := range drawn {
			f = d.is.ReplaceAllString(f, d.say)
		}
		fixed = append(fixed, f)
	}
	return fixed
}
