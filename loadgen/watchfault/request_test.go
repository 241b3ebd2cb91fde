package watchfault

import (
	"net/http/httptest"
	"testing"
)

// TestClassify: faults are chosen by what a path names; one that leads nowhere is no list.
func TestClassify(t *testing.T) {
	for path, want := range map[string][2]string{
		"/api/v1/pods":                              {List, "pods"},
		"/api/v1/namespaces/a/pods?watch=1":         {Watch, "pods"},
		"/apis/apps/v1/deployments?continue=x":      {Page, "deployments"},
		"/api/v1/namespaces":                        {List, "namespaces"},
		"/api/v1/namespaces/a":                      {Other, "namespaces"},
		"/api/v1/namespaces/a/pods/x/log":           {Other, "pods"},
		"/api/v1//pods":                             {Other, ""},
		"/api/v1":                                   {Other, ""},
		"/version":                                  {Other, ""},
		"/api/v1/pods?watch=true&sendInitialEvents": {Stream, "pods"},
	} {
		if got := classify(httptest.NewRequest("GET", path, nil)); got.verb != want[0] || got.resource != want[1] {
			t.Errorf("%s: %+v, want %v", path, got, want)
		}
	}
}
