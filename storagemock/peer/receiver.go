package peer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/http1"
	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// Paths of the receivers.
const (
	alarmPath  = "/bcshealth/v1/create"
	alertsPath = "/api/v2/alerts"
)

// maxReceived bounds the bodies a Receiver keeps; older ones are forgotten.
const maxReceived = 64 << 20 // bytes

// Received is one alarm or one post of alerts.
type Received struct {
	At   int64           `json:"at"` // Unix ns: request read completely
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Receiver takes alarms as bcs-health does (POST /bcshealth/v1/create) and alerts
// as Alertmanager does (POST /api/v2/alerts), and keeps them.
type Receiver struct {
	*server

	mu       sync.Mutex // guards the rest
	received []Received
	bytes    int // of their bodies
	total    int // also those forgotten
}

// NewReceiver returns a receiver.
func NewReceiver(b Behaviour) *Receiver {
	r := &Receiver{}
	r.server = newServer(b, r.serve)
	return r
}

// Received are the latest requests taken, oldest first, and how many there were.
func (r *Receiver) Received() (latest []Received, total int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.received), r.total
}

// Reset forgets what was received.
func (r *Receiver) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received, r.bytes, r.total = nil, 0, 0
}

func (r *Receiver) add(one Received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	r.bytes += len(one.Body)
	r.received = append(r.received, one)
	old := 0
	for ; r.bytes > maxReceived; old++ {
		r.bytes -= len(r.received[old].Body)
	}
	r.received = slices.Delete(r.received, 0, old)
}

func (r *Receiver) serve(req *http1.Request) answer {
	switch {
	case req.Path == alarmPath && req.Method == http.MethodPost:
		return r.alarm(req)
	case req.Path == alertsPath && req.Method == http.MethodPost:
		return r.alerts(req)
	case req.Path == alarmPath:
		return wrongMethod(KindAlarm)
	case req.Path == alertsPath:
		return wrongMethod(KindAlert)
	}
	return notFound("")
}

func (r *Receiver) keep(kind string, req *http1.Request) func() {
	return func() {
		var compact bytes.Buffer
		if json.Compact(&compact, req.Body) == nil {
			r.add(Received{At: req.Received.UnixNano(), Kind: kind, Body: compact.Bytes()})
		}
	}
}

// alarm answers as bcs-health: the envelope of bcs-storage.
func (r *Receiver) alarm(req *http1.Request) answer {
	a := answer{kind: KindAlarm, status: 200, contentType: "application/json"}
	if err := checkAlarm(req.Body); err != nil {
		b := rawjson.AppendString([]byte(`{"result":false,"code":1,"message":`), "(bcs-health):"+err.Error())
		a.body = append(b, `,"data":null}`...)
		return a
	}
	a.body = fmt.Appendf(nil, `{"result":true,"code":0,"message":%q,"data":null}`, bcsapi.CodeSuccess.Message())
	a.take = r.keep(KindAlarm, req)
	return a
}

func checkAlarm(body []byte) error {
	if err := rawjson.Valid(body); err != nil {
		return err
	}
	for _, field := range []string{"alarmID", "alarmName", "clusterID", "module", "alarmMsg"} {
		if rawjson.Text(rawjson.Get(bytes.TrimSpace(body), field)) == "" {
			return fmt.Errorf("%s is missing or empty", field)
		}
	}
	return nil
}

// alerts answers as Alertmanager's API v2: nothing on success, a JSON string
// that says what is wrong otherwise.
func (r *Receiver) alerts(req *http1.Request) answer {
	a := answer{kind: KindAlert, status: 200, contentType: "application/json"}
	if err := checkAlerts(req.Body); err != nil {
		a.status, a.body = 400, rawjson.AppendString(nil, err.Error())
		return a
	}
	a.take = r.keep(KindAlert, req)
	return a
}

func checkAlerts(body []byte) error {
	if err := rawjson.Valid(body); err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	if rawjson.KindOf(body) != rawjson.Array {
		return fmt.Errorf("want a list of alerts")
	}
	i := 0
	for alert := range rawjson.Elements(body) {
		labels := rawjson.Get(alert, "labels")
		n := 0
		for name, v := range rawjson.Members(labels) {
			if n++; rawjson.KindOf(v) != rawjson.String {
				return fmt.Errorf("alert %d: label %s is not a string", i, name)
			}
		}
		if n == 0 {
			return fmt.Errorf("alert %d: labels is missing or empty", i)
		}
		for _, field := range []string{"startsAt", "endsAt"} {
			v := rawjson.Get(alert, field)
			if v == nil {
				continue
			}
			if _, err := time.Parse(time.RFC3339, rawjson.Text(v)); err != nil {
				return fmt.Errorf("alert %d: %s is not an RFC 3339 time", i, field)
			}
		}
		i++
	}
	return nil
}
