package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

var ann = User{Name: "ann", UID: "u1", Groups: []string{"dev", "system:authenticated"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v", "w"}}}

const (
	aboutAnn   = `"user":"ann","groups":["dev","system:authenticated"],"extra":{"k":["v","w"]},"uid":"u1"}}`
	accessPath = "POST /prefix/apis/authorization.k8s.io/v1/subjectaccessreviews "
	accessHead = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{`
)

// TestReviews: what is asked, to the byte, over a socket.
func TestReviews(t *testing.T) {
	fake := newFake()
	fake.token = func(string) string {
		return strings.Replace(yesUser, `{`, `{"audiences":["b"],`, 1)
	}
	s := httptest.NewServer(fake)
	defer s.Close()
	c := guarded()
	c.Audiences = []string{"a", "b"}
	g := must(New(c, Settings{Kube: &rest.Config{Host: s.URL + "/prefix", BearerToken: "own"}}))
	defer g.(*Reviewer).CloseIdleConnections()
	u := must(g.Authenticate(request("good")))
	if diff := cmp.Diff(ann, u); diff != "" {
		t.Error(diff)
	}
	want := `POST /prefix/apis/authentication.k8s.io/v1/tokenreviews {"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"good","audiences":["a","b"]}}`
	if diff := cmp.Diff([]string{want}, fake.take()); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		name string
		a    Attributes
		want string
	}{
		{"get", Attributes{Verb: "get", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "scale", Namespace: "mine", Name: "web"},
			`"resourceAttributes":{"namespace":"mine","verb":"get","group":"apps","version":"v1","resource":"deployments","subresource":"scale","name":"web"},`},
		{"list of all", Attributes{Verb: "list", Version: "v1", Resource: "nodes"},
			`"resourceAttributes":{"verb":"list","version":"v1","resource":"nodes"},`},
		{"labels", Attributes{Verb: "list", Version: "v1", Resource: "pods", Namespace: "mine", LabelSelector: "a=b,c==d,e!=f,g in (y,x),h notin (z),i,!j,k>1"},
			`"resourceAttributes":{"namespace":"mine","verb":"list","version":"v1","resource":"pods","labelSelector":{"requirements":[` +
				`{"key":"a","operator":"In","values":["b"]},{"key":"c","operator":"In","values":["d"]},{"key":"e","operator":"NotIn","values":["f"]},` +
				`{"key":"g","operator":"In","values":["x","y"]},{"key":"h","operator":"NotIn","values":["z"]},` +
				`{"key":"i","operator":"Exists"},{"key":"j","operator":"DoesNotExist"}]}},`},
		{"fields", Attributes{Verb: "watch", Version: "v1", Resource: "pods", FieldSelector: "spec.nodeName=n1,status.phase!=Failed"},
			`"resourceAttributes":{"verb":"watch","version":"v1","resource":"pods","fieldSelector":{"requirements":[` +
				`{"key":"spec.nodeName","operator":"In","values":["n1"]},{"key":"status.phase","operator":"NotIn","values":["Failed"]}]}},`},
		{"one name", Attributes{Verb: "watch", Version: "v1", Resource: "pods", FieldSelector: "metadata.name=p"},
			`"resourceAttributes":{"verb":"watch","version":"v1","resource":"pods","name":"p","fieldSelector":{"requirements":[{"key":"metadata.name","operator":"In","values":["p"]}]}},`},
		{"no name at all", Attributes{Verb: "list", Version: "v1", Resource: "pods", FieldSelector: "metadata.name=.."},
			`"resourceAttributes":{"verb":"list","version":"v1","resource":"pods","fieldSelector":{"requirements":[{"key":"metadata.name","operator":"In","values":[".."]}]}},`},
		{"wrong selectors limit nothing", Attributes{Verb: "list", Version: "v1", Resource: "pods", FieldSelector: "x", LabelSelector: "a in ("},
			`"resourceAttributes":{"verb":"list","version":"v1","resource":"pods"},`},
		{"path", Attributes{Verb: "get", Path: "/apis"}, `"nonResourceAttributes":{"path":"/apis","verb":"get"},`},
	} {
		_ = g.Authorize(t.Context(), u, tc.a)
		if diff := cmp.Diff([]string{accessPath + accessHead + tc.want + aboutAnn}, fake.take()); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}

// TestAttributesCount: an answer about one request is no answer about another that differs in anything.
func TestAttributesCount(t *testing.T) {
	fake := newFake()
	r, _ := fake.reviewer(t, guarded())
	base := Attributes{Verb: "list", Group: "g", Version: "v1", Resource: "pods", Namespace: "mine"}
	ask := func(u User, a Attributes) int {
		_ = r.Authorize(t.Context(), u, a)
		return len(fake.take())
	}
	if n := ask(ann, base) + ask(ann, base); n != 1 {
		t.Fatalf("%d reviews of the same, want 1", n)
	}
	for name, change := range map[string]func(*User, *Attributes){
		"verb": func(_ *User, a *Attributes) { a.Verb = "watch" }, "group": func(_ *User, a *Attributes) { a.Group = "h" },
		"version": func(_ *User, a *Attributes) { a.Version = "v2" }, "resource": func(_ *User, a *Attributes) { a.Resource = "secrets" },
		"subresource": func(_ *User, a *Attributes) { a.Subresource = "log" }, "namespace": func(_ *User, a *Attributes) { a.Namespace = "" },
		"name": func(_ *User, a *Attributes) { a.Name = "n" }, "labels": func(_ *User, a *Attributes) { a.LabelSelector = "a=b" },
		"fields": func(_ *User, a *Attributes) { a.FieldSelector = "a=b" }, "path": func(_ *User, a *Attributes) { a.Path = "/" },
		"user": func(u *User, _ *Attributes) { u.Name = "bob" }, "uid": func(u *User, _ *Attributes) { u.UID = "" },
		"groups": func(u *User, _ *Attributes) { u.Groups = u.Groups[:1] }, "extra": func(u *User, _ *Attributes) { u.Extra = nil },
	} {
		u, a := ann, base
		change(&u, &a)
		if ask(u, a) != 1 {
			t.Errorf("another %s is not asked about", name)
		}
	}
}

func TestErrors(t *testing.T) {
	fake := newFake()
	r, _ := fake.reviewer(t, guarded())
	for _, header := range [][]string{nil, {"Basic eDp5"}, {"Bearer"}, {"Bearer "}, {"Bearer a b"}, {"Bearer good", "Bearer good"}, {"Bearer a\x00"}, {"bad"}} {
		req := request("")
		req.Header["Authorization"] = header
		_, err := r.Authenticate(req)
		if _, ok := errors.AsType[*UnauthorizedError](err); !ok {
			t.Errorf("%q: %v", header, err)
		}
	}
	if got := fake.take(); len(got) > 0 {
		t.Errorf("asked about no token: %q", got)
	}
	for _, token := range []string{"bad", "expired"} {
		_, err := r.Authenticate(request(token))
		if _, ok := errors.AsType[*UnauthorizedError](err); !ok {
			t.Errorf("%s: %v", token, err)
		}
	}
	req := request("")
	req.Header.Set("Authorization", "bEARER good") // schemes have no case
	if u, err := r.Authenticate(req); err != nil || u.Name != "ann" {
		t.Error(u, err)
	}
	for want, a := range map[string]Attributes{
		`User "ann" cannot list resource "pods/log" in API group "" in the namespace "other": no rule`: {Verb: "list", Resource: "pods", Subresource: "log", Namespace: "other"},
		`User "ann" cannot watch resource "jobs" in API group "batch" at the cluster scope: no rule`:   {Verb: "watch", Group: "batch", Resource: "jobs"},
		`User "ann" cannot get path "/api": no rule`:                                                   {Verb: "get", Path: "/api"},
	} {
		err := r.Authorize(t.Context(), ann, a)
		f, ok := errors.AsType[*ForbiddenError](err)
		if !ok || f.Sentence() != want || f.Reason != "no rule" || f.User.Name != "ann" || f.Attributes != a {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := r.Authorize(t.Context(), ann, Attributes{Verb: "list", Resource: "pods", Namespace: "mine"}); err != nil {
		t.Error(err)
	}
}

// TestDoubtfulAnswers: only a clear yes is one.
func TestDoubtfulAnswers(t *testing.T) {
	c := guarded()
	c.Audiences = []string{"a"}
	for status, wantErr := range map[string]bool{
		`{"authenticated":true,"audiences":["a"],"user":{"username":"x"}}`:     false,
		`{"authenticated":true,"audiences":["b","a"],"user":{"username":"x"}}`: false,
		`{"authenticated":true,"user":{"username":"x"}}`:                       true, // knows no audiences
		`{"authenticated":true,"audiences":["b"],"user":{"username":"x"}}`:     true,
		`{"authenticated":true,"audiences":["a"],"user":{}}`:                   true,
		`{"user":{"username":"x"},"audiences":["a"]}`:                          true,
		`{"authenticated":"yes","audiences":["a"],"user":{"username":"x"}}`:    true,
		`null`: true, `[]`: true, `{`: true, `"` + strings.Repeat("x", maxAnswer) + `"`: true,
	} {
		fake := newFake()
		fake.token = func(string) string { return status }
		r, _ := fake.reviewer(t, c)
		if _, err := r.Authenticate(request("good")); (err != nil) != wantErr {
			t.Errorf("%.80s: %v", status, err)
		}
	}
	for _, status := range []string{`{"allowed":true,"denied":true}`, `{}`, `null`, `{"allowed":"true"}`, `{"allowed":false,"reason":"` + strings.Repeat("x", 1<<10) + `"}`} {
		fake := newFake()
		fake.access = func(string, string) string { return status }
		r, _ := fake.reviewer(t, c)
		if err := r.Authorize(t.Context(), ann, Attributes{}); err == nil || len(err.Error()) > 512 {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// TestTTLs: how long answers count, and that those of errors do not.
func TestTTLs(t *testing.T) {
	mine, other := Attributes{Verb: "list", Namespace: "mine"}, Attributes{Verb: "list", Namespace: "other"}
	for _, tc := range []struct {
		name string
		ttl  time.Duration
		ask  func(*Reviewer) error
		ok   bool
	}{
		{"user", time.Minute, func(r *Reviewer) error { _, err := r.Authenticate(request("good")); return err }, true},
		{"no user", 10 * time.Second, func(r *Reviewer) error { _, err := r.Authenticate(request("bad")); return err }, false},
		{"allowed", 5 * time.Minute, func(r *Reviewer) error { return r.Authorize(context.Background(), ann, mine) }, true},
		{"denied", 30 * time.Second, func(r *Reviewer) error { return r.Authorize(context.Background(), ann, other) }, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := newFake()
			r, log := fake.reviewer(t, guarded())
			first := tc.ask(r)
			if (first == nil) != tc.ok || len(fake.take()) != 1 {
				t.Fatalf("%s: %v", tc.name, first)
			}
			fake.set(func() { fake.status = http.StatusInternalServerError }) // the apiserver is away
			time.Sleep(tc.ttl - time.Nanosecond)
			if err := tc.ask(r); fmt.Sprint(err) != fmt.Sprint(first) || len(fake.take()) != 0 {
				t.Errorf("%s: within the TTL: %v", tc.name, err)
			}
			time.Sleep(2 * time.Nanosecond)
			for range 2 { // an error is not kept
				err := tc.ask(r)
				if _, ok := errors.AsType[*UnavailableError](err); !ok || len(fake.take()) != 1 {
					t.Errorf("%s: after the TTL, without an apiserver: %v", tc.name, err)
				}
			}
			fake.set(func() { fake.status = 0 })
			if err := tc.ask(r); fmt.Sprint(err) != fmt.Sprint(first) || len(fake.take()) != 1 {
				t.Errorf("%s: the apiserver is back: %v", tc.name, err)
			}
			if s := log.String(); strings.Count(s, "\n") != 2 || !strings.Contains(s, "answers no review") || !strings.Contains(s, "again") {
				t.Errorf("%s: log %s", tc.name, s)
			}
		})
	}
}

// TestUnavailable: whatever the apiserver does instead of an answer is no allow.
func TestUnavailable(t *testing.T) {
	for _, status := range []int{200 + 4, 301, 307, 308, 400, 401, 403, 404, 409, 429, 500, 503} {
		fake := newFake()
		fake.status = status
		r, _ := fake.reviewer(t, guarded())
		_, err := r.Authenticate(request("good"))
		for _, err := range []error{err, r.Authorize(t.Context(), ann, Attributes{Namespace: "mine"})} {
			if _, ok := errors.AsType[*UnavailableError](err); !ok || !strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("%d: %v", status, err)
			}
			if hint := strings.Contains(err.Error(), "system:auth-delegator"); hint != (status == 401 || status == 403) {
				t.Errorf("%d: %v", status, err)
			}
		}
		if got := fake.take(); len(got) != 2 {
			t.Errorf("%d: %d requests: a token must not follow a redirect", status, len(got))
		}
	}
}

// TestSingleFlight: many who ask the same at once cost one review, and the first one's
// leaving does not end it for the others.
func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		fake.delay = time.Second
		r, _ := fake.reviewer(t, guarded())
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				req := request("good")
				if i == 0 {
					req = req.WithContext(ctx)
				} else {
					time.Sleep(time.Millisecond)
				}
				if _, err := r.Authenticate(req); err != nil && i > 0 {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Second / 2)
		gone, leave := context.WithCancel(t.Context())
		leave()
		began := time.Now()
		if _, err := r.Authenticate(request("good").WithContext(gone)); err == nil || time.Since(began) > 0 {
			t.Errorf("a client that left waits %s: %v", time.Since(began), err)
		}
		cancel()
		wg.Wait()
		if n := len(fake.take()); n != 1 {
			t.Errorf("%d reviews, want 1", n)
		}
	})
}

// TestFlood: bad tokens cost a bounded number of reviews at a time, those that wait are
// bounded, too, and do not hold up who is known.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		r, _ := fake.reviewer(t, guarded())
		if _, err := r.Authenticate(request("good")); err != nil {
			t.Fatal(err)
		}
		fake.take()
		fake.set(func() { fake.delay = time.Hour })
		var wg sync.WaitGroup
		var mu sync.Mutex
		busy, late := 0, 0
		for i := range 1000 {
			wg.Go(func() {
				_, err := r.Authenticate(request(fmt.Sprint("bad", i)))
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, ErrBusy) {
					busy++
				} else if isUnavailable(err) {
					late++
				}
			})
		}
		synctest.Wait()
		if n := len(fake.take()); n != maxReviews {
			t.Errorf("%d reviews under way, want %d", n, maxReviews)
		}
		mu.Lock()
		if busy != 1000-maxReviews-maxWaiting {
			t.Errorf("%d are turned away at once", busy)
		}
		mu.Unlock()
		if _, err := r.Authenticate(request("good")); err != nil {
			t.Error(err)
		}
		began := time.Now()
		time.Sleep(reviewTimeout)
		synctest.Wait()
		mu.Lock()
		if late != maxWaiting {
			t.Errorf("%d gave up after %s, want the %d that wait", late, time.Since(began), maxWaiting)
		}
		mu.Unlock()
		wg.Wait() // the fake heeds no context
		if _, err := r.Authenticate(request("good2")); err != nil && !isUnavailable(err) {
			t.Error(err)
		}
	})
}

// TestBounds: answers kept are bounded, and refusals push out no user.
func TestBounds(t *testing.T) {
	fake := newFake()
	r, _ := fake.reviewer(t, guarded())
	if _, err := r.Authenticate(request("good")); err != nil {
		t.Fatal(err)
	}
	for i := range maxRefused + 10 {
		_, _ = r.Authenticate(request(fmt.Sprint("bad", i)))
	}
	if n := len(r.users.refused.Keys()); n != maxRefused {
		t.Errorf("%d refusals are kept, want %d", n, maxRefused)
	}
	fake.take()
	if _, err := r.Authenticate(request("good")); err != nil || len(fake.take()) != 0 {
		t.Error("the user was pushed out", err)
	}
	for i := range maxUsers + 10 {
		_, _ = r.Authenticate(request(fmt.Sprint("good", i)))
	}
	if n := len(r.users.accepted.Keys()); n != maxUsers {
		t.Errorf("%d users are kept, want %d", n, maxUsers)
	}
}

// TestCanary: a token is in no log, error, message or cache.
func TestCanary(t *testing.T) {
	const canary = "bad-canary-5e3ad9"
	for i, prepare := range []func(*apiserverFake){ // every second one is an answer, which is kept
		func(f *apiserverFake) { f.status = 500 },
		func(*apiserverFake) {},
		func(f *apiserverFake) {
			f.token = func(s string) string { return `{"authenticated":"` + s + `"}` }
		},
		func(f *apiserverFake) {
			f.token = func(s string) string { return `{"authenticated":false,"error":"` + s + `"}` }
		},
		func(f *apiserverFake) { f.token = func(s string) string { return s } },
	} {
		fake := newFake()
		prepare(fake)
		r, log := fake.reviewer(t, guarded())
		rec := httptest.NewRecorder()
		front{next: http.NotFoundHandler(), guard: r}.ServeHTTP(rec, request(canary))
		_, err := r.Authenticate(request(canary))
		two := request(canary)
		two.Header.Add("Authorization", "Basic "+canary)
		_, err2 := r.Authenticate(two)
		if err == nil || err2 == nil || rec.Code < 400 {
			t.Fatal(err, err2, rec.Code)
		}
		if len(fake.take()) == 0 {
			t.Fatal("the canary was not asked about")
		}
		var kept string
		keys := r.users.refused.Keys()
		for _, k := range keys {
			v, _ := r.users.refused.Get(k)
			k2 := k.(key)
			kept += fmt.Sprintf("%s %+v", k2[:], v)
		}
		if len(keys) != i%2 {
			t.Errorf("%d answers are kept", len(keys))
		}
		for where, text := range map[string]string{"error": err.Error() + err2.Error(), "log": log.String(), "answer": fmt.Sprint(rec.Header(), rec.Body), "cache": kept} {
			if strings.Contains(text, canary) || strings.Contains(text, "canary") {
				t.Errorf("%s: %s", where, text)
			}
		}
	}
}

func isUnavailable(err error) bool { return errors.As(err, new(*UnavailableError)) }
