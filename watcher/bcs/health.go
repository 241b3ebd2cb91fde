package bcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/watcher/call"
)

// Values of a bcs-health alarm (contract §6); the misspelling is the platform's.
const (
	healthPath       = "/bcshealth/v1/create"
	alarmName        = "podEventWarnning"
	alarmKindWarn    = 2 | 4 | 8 // sms, rtx, weixin
	alarmModule      = "k8s-watch"
	alarmConvergence = 60
	maxReply         = 64 << 10
)

type alarm struct {
	AlarmID            string            `json:"alarmID"`
	AlarmName          string            `json:"alarmName"`
	ClusterID          string            `json:"clusterID"`
	ConvergenceSeconds int               `json:"convergenceSeconds"`
	AlarmKind          int               `json:"alarmKind"`
	Module             string            `json:"module"`
	AlarmMsg           string            `json:"alarmMsg"`
	Namespace          string            `json:"namespace"` // the cluster id, on purpose
	VoiceReadMsg       string            `json:"voiceReadMsg"`
	SmsMsg             string            `json:"smsMsg"`
	ResourceType       string            `json:"resource_type"`
	ResourceName       string            `json:"resource_name"`
	EventMessage       string            `json:"event_message"`
	ModuleVersion      string            `json:"module_version"`
	ModuleIP           string            `json:"module_ip"`
	AtTime             int64             `json:"at_time"`
	AlarmLevel         string            `json:"alarm_level"`
	Affiliation        string            `json:"affiliation"`
	Labels             map[string]string `json:"Labels"`
}

// Health posts to the bcs-health master, whose address SetServer gives.
type Health struct {
	ClusterID string
	HostIP    string
	Client    *http.Client
	server    atomic.Pointer[string]
}

// SetServer names the master as scheme://host:port; "" means that none is known.
func (h *Health) SetServer(addr string) { h.server.Store(&addr) }

// Post implements Target.
func (h *Health) Post(ctx context.Context, a Alert) error {
	server := h.server.Load()
	if server == nil || *server == "" {
		return errors.New("no bcs-health server is known")
	}
	body, err := json.Marshal(h.alarm(a))
	if err != nil {
		return err
	}
	status, reply, err := call.Do(ctx, h.Client,
		call.Request{Method: http.MethodPost, URL: *server + healthPath, Body: body, Limit: maxReply})
	if err != nil {
		return err
	}
	var env bcsapi.Envelope
	if err := json.Unmarshal(reply, &env); err != nil {
		return fmt.Errorf("bcs-health answered HTTP %d and no envelope: %w", status, err)
	}
	if !env.Result {
		return fmt.Errorf("bcs-health refused: code %d: %s", env.Code, env.Message)
	}
	return nil
}

func (h *Health) alarm(a Alert) alarm {
	text := a.text()
	return alarm{
		AlarmID: a.OwnerUID, AlarmName: alarmName, ClusterID: h.ClusterID, ConvergenceSeconds: alarmConvergence,
		AlarmKind: alarmKindWarn, Module: alarmModule,
		AlarmMsg: fmt.Sprintf("*** BCS Module Status Change Alarm ***\n\tModule:    %s\n\tKind:      Warn\n\tIP:        "+
			"%s\n\tClusterID: %s\n\tMessage:   %s\n",
			alarmModule, h.HostIP, h.ClusterID, text),
		Namespace:    h.ClusterID,
		SmsMsg:       fmt.Sprintf("BCS Alarm\n%s\nWarn\n%s\n%s\nMsg:%s", alarmModule, h.HostIP, h.ClusterID, text),
		ResourceType: "Pod", ResourceName: a.Pod, EventMessage: text,
		ModuleVersion: "k8s-watch " + version.Version, ModuleIP: h.HostIP,
		AtTime: a.At.Unix(), AlarmLevel: "important",
	}
}

var _ Target = (*Health)(nil)
