package readers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

type hook struct {
	id     int // from 1
	listen net.Listener
	log    *Writer
	key    []byte        // of the signatures
	last   atomic.Uint64 // the highest version that was delivered
}

func (h *hook) serve(ctx context.Context) error {
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	return lifecycle.Serve(ctx, s, h.listen, time.Second)
}

func (h *hook) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxFrame))
	if err != nil {
		return // the sender gave up, and tries again
	}
	r := Record{What: Delivery, Reader: h.id, Started: time.Now().UnixNano(), Bytes: int64(len(body))}
	f, err := parseFrame(body)
	switch r.Code = http.StatusBadRequest; {
	case err != nil:
		r.Error = "its body is not an event"
	case req.Header.Get(headerID) != fmt.Sprintf("%s:%d:%s", f.uid, f.version, f.typ):
		r.Error = "its id is not uid:version:type"
	default:
		r.Code = http.StatusNoContent
	}
	r.Type, r.UID, r.Version, r.Signed = f.typ, f.uid, f.version, h.signed(req.Header, body)
	w.WriteHeader(r.Code)
	r.Ended = time.Now().UnixNano()
	h.log.Append(r)
	if r.Error != "" {
		return
	}
	for was := h.last.Load(); was < f.version && !h.last.CompareAndSwap(was, f.version); was = h.last.Load() {
	}
}

func secretKey(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) == 0 {
		return nil, errors.New("want whsec_ and bytes in base64")
	}
	return key, nil
}

func (h *hook) signed(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, h.key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", header.Get(headerID), header.Get(headerTimestamp), body) // a hash never fails
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for sig := range strings.FieldsSeq(header.Get(headerSignature)) {
		if hmac.Equal([]byte(sig), []byte(want)) {
			return true
		}
	}
	return false
}
