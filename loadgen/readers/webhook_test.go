package readers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

const secret = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="

// deliver posts an event as a watcher does; it returns the status.
func deliver(t *testing.T, addr, id, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte("secret-secret-secret"))
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, "17", body)
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", "17")
	req.Header.Set("webhook-signature", "v1,wrong v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestWebhooks(t *testing.T) {
	_, url := pods(t, apisim.Config{})
	const good = `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p","uid":"u1","resourceVersion":"5"}}}`
	log := reads(t, Config{Webhooks: 2}, url, url, func(listen []string) {
		for i, addr := range listen {
			if code := deliver(t, addr, "u1:5:ADDED", good); code != 204 {
				t.Errorf("receiver %d answers %d", i+1, code)
			}
		}
		for id, body := range map[string]string{"u1:6:ADDED": good, "u1:5:MODIFIED": good, "": good, "u1:5:ADDED": `{"type":"ADDED"}`} {
			if code := deliver(t, listen[0], id, body); code != 400 {
				t.Errorf("%q with %s: %d", id, body, code)
			}
		}
	})
	for i, n := range []int{5, 1} {
		all := log.of(Delivery, i+1)
		if len(all) != n {
			t.Fatalf("receiver %d: %+v", i+1, all)
		}
		if r := all[0]; r.Code != 204 || r.Error != "" || r.UID != "u1" || r.Version != 5 || r.Type != "ADDED" || !r.Signed || r.Ended < r.Started || r.Bytes != int64(len(good)) {
			t.Errorf("receiver %d: %+v", i+1, r)
		}
		for _, r := range all[1:] {
			if r.Code != 400 || r.Error == "" {
				t.Errorf("%+v", r)
			}
		}
	}
}

// A signature of another body or with another key is none.
func TestSignature(t *testing.T) {
	key, err := secretKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{key: key}
	header := http.Header{"Webhook-Id": {"a"}, "Webhook-Timestamp": {"1"}}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("a.1.body"))
	header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if !h.signed(header, []byte("body")) || h.signed(header, []byte("bodY")) {
		t.Error("the signature is that of one body")
	}
	header.Set("Webhook-Timestamp", "2")
	if h.signed(header, []byte("body")) {
		t.Error("a signature holds for another time")
	}
	for _, bad := range []string{"", "c2VjcmV0", "whsec_", "whsec_***"} {
		if _, err := secretKey(bad); err == nil {
			t.Errorf("%q is taken for a secret", bad)
		}
	}
}

func TestParseFrame(t *testing.T) {
	for line, want := range map[string]frame{
		`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"p","uid":"u","resourceVersion":"7"},"spec":{}}}`:   {typ: "ADDED", uid: "u", version: 7},
		`{"object":{"metadata":{"uid":"u","resourceVersion":"7"}},"type":"DELETED"}`:                                   {typ: "DELETED", uid: "u", version: 7},
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","creationTimestamp":null}}}`:                   {typ: "BOOKMARK", version: 9},
		`{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","reason":"Expired","code":410}}`:   {typ: "ERROR", code: 410},
		`{"type":"MODIFIED","object":{"metadata":{"uid":"u","resourceVersion":"7","annotations":{"uid":"x"}}}}` + "\n": {typ: "MODIFIED", uid: "u", version: 7},
	} {
		if got, err := parseFrame([]byte(line)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{
		``, `{}`, `[]`, `{"type":"ADDED"}`, `{"type":"MOVED","object":{"metadata":{"uid":"u","resourceVersion":"7"}}}`,
		`{"type":"ADDED","object":{"metadata":{"uid":"u"}}}`, `{"type":"ADDED","object":{"metadata":{"resourceVersion":"7"}}}`,
		`{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"x"}}}`, `{"type":"BOOKMARK","object":{}}`,
	} {
		if got, err := parseFrame([]byte(line)); err == nil {
			t.Errorf("%s is read as %+v", line, got)
		}
	}
}

func TestReadList(t *testing.T) {
	items := 0
	body := []byte(`{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":1},{}]} `)
	if v, err := readList(body, func([]byte) { items++ }); err != nil || v != 7 || items != 2 {
		t.Errorf("%d, %d items, %v", v, items, err)
	}
	for _, body := range []string{
		``, `{}`, `[]`, `{"items":{}}`, `{"items":[`, `{"items":[{}]`, `{"items":[]}{}`, `{"items":[{},]}`,
		`{"metadata":{"resourceVersion":""},"items":[]}`, `{"metadata":{"resourceVersion":"7"}}`,
	} {
		if l, err := readList([]byte(body), nil); err == nil {
			t.Errorf("%s is read as %+v", body, l)
		}
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add(`{"type":"ADDED","object":{"metadata":{"uid":"u","resourceVersion":"7"}}}`)
	f.Add(`{"type":"ERROR","object":{"code":410}}`)
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parseFrame([]byte(line))
		if err == nil && got.typ != typeError && got.uid == "" && got.typ != "BOOKMARK" {
			t.Errorf("%q: %+v", line, got)
		}
	})
}

func FuzzReadList(f *testing.F) {
	f.Add(`{"metadata":{"resourceVersion":"7"},"items":[{},{"a":1}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		n := 0
		_, err := readList([]byte(body), func([]byte) { n++ })
		var list struct{ Items []json.RawMessage }
		if err == nil && (json.Unmarshal([]byte(body), &list) != nil || len(list.Items) != n) {
			t.Errorf("%q: %d items shown, %d there", body, n, len(list.Items))
		}
	})
}
