package access

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzLocalHost: no name but localhost and no address that is not loopback passes.
func FuzzLocalHost(f *testing.F) {
	for _, s := range []string{"localhost", "127.0.0.1:80", "[::1]:80", "::1", "[::ffff:127.0.0.1]", "a:b", "[", "localhost:", ":80", "127.0.0.1.x", "[::1%25lo]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !localHost(host) {
			return
		}
		name := host
		if h, _, err := net.SplitHostPort(host); err == nil {
			name = h
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		if a, err := netip.ParseAddr(name); !strings.EqualFold(name, "localhost") && (err != nil || !a.IsLoopback() || a.Is4In6()) {
			t.Errorf("%q passes", host)
		}
	})
}

// FuzzBearer: what passes is one word that was sent, anything else is unauthorized.
func FuzzBearer(f *testing.F) {
	for _, s := range []string{"Bearer a", "bearer  a", "Bearer", "Basic a", "Bearer a b", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, err := bearer([]string{header})
		if err != nil {
			if _, ok := errors.AsType[*UnauthorizedError](err); !ok || token != "" || len(header) > 12 && strings.Contains(err.Error(), header) {
				t.Errorf("%q: %q, %v", header, token, err)
			}
			return
		}
		if len(strings.Fields(token)) != 1 || header[len("bearer "):] != token {
			t.Errorf("%q: %q", header, token)
		}
	})
}

// FuzzSelectors: whatever is asked is a review that can be read, with no requirement that a review does not know.
func FuzzSelectors(f *testing.F) {
	for _, s := range []string{"a=b", "a in (b,c),!d", "metadata.name=x", "metadata.name=a/b", "a>1", `a=b\,c`, "=", "a in ("} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, fields, labels string) {
		spec := Attributes{Verb: "list", Resource: "pods", FieldSelector: fields, LabelSelector: labels}.question(User{Name: "u"})
		if strings.ContainsAny(spec.ResourceAttributes.Name, "/%") {
			t.Errorf("%q asks for the name %q", fields, spec.ResourceAttributes.Name)
		}
		var all []metav1.LabelSelectorRequirement
		if s := spec.ResourceAttributes.LabelSelector; s != nil {
			all = s.Requirements
		}
		if s := spec.ResourceAttributes.FieldSelector; s != nil {
			for _, r := range s.Requirements {
				all = append(all, metav1.LabelSelectorRequirement{Key: r.Key, Operator: metav1.LabelSelectorOperator(r.Operator), Values: r.Values})
			}
		}
		for _, r := range all {
			switch r.Operator {
			case "In", "NotIn":
				if len(r.Values) == 0 {
					t.Errorf("%q %q: %v", fields, labels, r)
				}
			case "Exists", "DoesNotExist":
				if len(r.Values) > 0 {
					t.Errorf("%q %q: %v", fields, labels, r)
				}
			default:
				t.Errorf("%q %q: %v", fields, labels, r)
			}
		}
	})
}
